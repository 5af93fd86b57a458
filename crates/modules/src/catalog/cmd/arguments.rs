//! The arguments of all `cmd` functions, and the command made from them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rocksalt_core::Value;
use rocksalt_macros::arguments;

use super::finished::Finished;
use crate::machine::{Command, FileKind, Probe, System, Template, accounts};
use crate::text::words;
use crate::{Error, Result};

/// A command, and how to run it.
#[arguments]
#[allow(dead_code, reason = "some are only taken because Salt's users give them")]
pub struct CommandArguments {
    /// The command line; a list is run as it is, without a shell.
    #[required]
    pub cmd: Value,
    /// The directory to run in, absolute. Else it is the user's home.
    pub cwd: Option<String>,
    /// What the command reads from its standard input.
    #[secret]
    pub stdin: Option<String>,
    /// Run as this user, with its groups, home and shell variables.
    pub runas: Option<String>,
    /// Run with this group as the first one.
    pub group: Option<String>,
    /// The shell. Else it is the agent's `SHELL` if that is a POSIX shell, or `/bin/sh`.
    pub shell: Option<String>,
    /// Whether a shell reads the command line. Without, it is split into words and nothing is expanded.
    pub python_shell: Option<bool>,
    /// Variables for the command: a map, a list of maps, or `NAME=value`.
    pub env: Value,
    /// Start with no variables but those of `env`.
    pub clean_env: bool,
    /// Render the command line and `cwd` first, with this renderer: `jinja`.
    pub template: Option<String>,
    /// Cut white space off the end of the output.
    #[default(true)]
    pub rstrip: bool,
    /// The umask for the command, in octal.
    pub umask: Option<String>,
    /// Output is always read as UTF-8; only that is taken.
    pub output_encoding: Option<String>,
    /// The level at which the output is logged; `quiet` for not at all.
    pub output_loglevel: Option<String>,
    /// Accepted and ignored.
    pub log_callback: Value,
    /// Return no output.
    pub hide_output: bool,
    /// End the command and all that it started after this many seconds.
    pub timeout: Option<f64>,
    /// Run in the C locale, whatever the machine's own.
    #[default(true)]
    pub reset_system_locale: bool,
    /// The command's exit code doesn't make the call a failure.
    pub ignore_retcode: bool,
    /// The environment that `salt://` files are read from.
    pub saltenv: Option<String>,
    /// Accepted and ignored: output is streamed anyway.
    pub use_vt: bool,
    /// Standard error into the output, in the order in which it was written.
    pub redirect_stderr: Option<bool>,
    /// Start it and don't wait for it.
    pub bg: bool,
    /// Only used on Windows.
    #[secret]
    pub password: Option<String>,
    /// Only used on Windows.
    pub encoded_cmd: bool,
    /// Fail the call if the command fails.
    pub raise_err: bool,
    /// A directory to look for programs in before all others.
    pub prepend_path: Option<String>,
    /// Exit codes that count as success besides 0.
    pub success_retcodes: Vec<i32>,
    /// Texts whose presence in the output counts as success.
    pub success_stdout: Vec<String>,
    /// Texts whose presence in standard error counts as success.
    pub success_stderr: Vec<String>,
}

/// The locale variables that Salt sets.
const LOCALE: [&str; 13] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
    "LANGUAGE",
];

impl CommandArguments {
    /// Runs the command; standard error is merged into the output if `merge` or the caller requests it.
    pub fn execute(mut self, machine: &dyn System, merge: bool) -> Result<Finished> {
        let merge = self.redirect_stderr.unwrap_or(merge);
        self.render(machine)?;
        let mut command = self.command(machine)?;
        command.merge_stderr = merge;
        if self.bg {
            let output = machine.run(&in_background(command))?;
            let pid = output.text().trim().parse().unwrap_or(output.pid);
            return Ok(Finished { pid, ..Finished::default() });
        }
        let output = machine.run(&command)?;
        Finished::new(&self, output)
    }

    /// Runs a command that only reads, which a dry run may do too.
    pub fn look(mut self, machine: &dyn Probe) -> Result<Finished> {
        self.render(machine)?;
        let output = machine.query(&self.command(machine)?)?;
        Finished::new(&self, output)
    }

    fn render(&mut self, machine: &dyn Probe) -> Result<()> {
        let Some(renderer) = self.template.take() else { return Ok(()) };
        let saltenv = self.saltenv.as_deref().unwrap_or("base");
        let rendered = |text: &str| {
            let context = rocksalt_core::Map::new();
            machine.templates().render(&Template { renderer: &renderer, text, source: "cmd", saltenv, context })
        };
        if let Value::String(line) = &self.cmd {
            self.cmd = rendered(line)?.into();
        }
        if let Some(cwd) = &self.cwd {
            self.cwd = Some(rendered(cwd)?);
        }
        Ok(())
    }

    /// The command line in a form that the user recognises; words as a list, as in Salt.
    pub fn line(&self) -> String {
        match (self.python_shell, words::split(&self.cmd.to_string())) {
            (Some(false), Ok(words)) if self.cmd.as_list().is_none() => {
                Value::List(words.into_iter().map(Value::from).collect()).to_string()
            }
            _ => self.cmd.to_string(),
        }
    }

    pub fn command(&self, machine: &dyn Probe) -> Result<Command> {
        self.refuse()?;
        let mut command = Command::new(self.argv(machine)?);
        command.cwd = Some(self.directory(machine)?);
        command.env = self.environment(machine)?;
        command.clean_env = self.clean_env;
        command.stdin = self.stdin.as_ref().map(|text| text.clone().into_bytes());
        // Switching to the own user would need root's privileges, and would have no effect.
        let own = accounts::own_uid(machine);
        let is_own = |name: &String| own != 0 && accounts::user(machine, name).is_some_and(|user| user.uid == own);
        command.user = self.runas.clone().filter(|name| !is_own(name));
        command.group = self.group.clone();
        command.umask = self.umask.as_deref().map(umask).transpose()?;
        command.timeout = self.timeout.map(seconds).transpose()?;
        Ok(command)
    }

    fn refuse(&self) -> Result<()> {
        if self.password.is_some() || self.encoded_cmd {
            return Err(Error::arguments("password and encoded_cmd only mean something on Windows")
                .hint("`runas` needs no password here"));
        }
        match self.output_encoding.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("utf-8" | "utf8" | "ascii") => Ok(()),
            Some(other) => Err(Error::arguments(format!("output_encoding: '{other}' is not supported"))
                .hint("output is read as UTF-8; let the command convert it, with `iconv` for one")),
        }
    }

    fn argv(&self, machine: &dyn Probe) -> Result<Vec<String>> {
        let argv = match (&self.cmd, self.python_shell) {
            (Value::List(items), Some(true)) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                vec![self.shell(machine)?, "-c".into(), words::join(&items)]
            }
            (Value::List(items), _) => items.iter().map(ToString::to_string).collect(),
            (Value::Map(_) | Value::Null, _) => {
                return Err(Error::arguments(format!("cmd: expected a command line, found {}", self.cmd.kind())));
            }
            (line, Some(false)) => words::split(&line.to_string())
                .map_err(|reason| Error::arguments(format!("could not split the command line '{line}': {reason}")))?,
            (line, _) => vec![self.shell(machine)?, "-c".into(), line.to_string()],
        };
        if argv.is_empty() {
            return Err(Error::arguments("cmd: there is no command to run"));
        }
        Ok(argv)
    }

    fn shell(&self, machine: &dyn Probe) -> Result<String> {
        let Some(shell) = &self.shell else { return Ok(default_shell(machine)) };
        match machine.stat(Path::new(shell), true) {
            Ok(Some(stat)) if stat.kind == FileKind::File && stat.mode & 0o111 != 0 => Ok(shell.clone()),
            _ => {
                Err(Error::failed(format!("The shell {shell} is not available"))
                    .hint("`cmd.shells` lists what there is"))
            }
        }
    }

    fn directory(&self, machine: &dyn Probe) -> Result<PathBuf> {
        let is_directory =
            |path: &Path| matches!(machine.stat(path, true), Ok(Some(stat)) if stat.kind == FileKind::Directory);
        let Some(cwd) = &self.cwd else {
            let home = match &self.runas {
                Some(name) => accounts::user(machine, name).map(|user| user.home),
                None => machine.env("HOME"),
            };
            let home = home.map(PathBuf::from).filter(|home| home.is_absolute() && is_directory(home));
            return Ok(home.unwrap_or_else(|| PathBuf::from("/")));
        };
        let path = crate::catalog::file::expand(machine, cwd);
        if path.is_absolute() && is_directory(&path) {
            return Ok(path);
        }
        Err(Error::failed(format!("Specified cwd '{cwd}' either not absolute or does not exist")))
    }

    fn environment(&self, machine: &dyn Probe) -> Result<Vec<(String, Option<String>)>> {
        let mut wanted = Vec::new();
        variables(&self.env, &mut wanted)?;
        if let Some(first) = &self.prepend_path {
            let own = wanted.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
            let path = own.or_else(|| machine.env("PATH")).unwrap_or_default();
            wanted.push(("PATH".into(), format!("{first}:{path}")));
        }
        let mut all = Vec::new();
        if self.reset_system_locale {
            all.extend(LOCALE.iter().map(|name| ((*name).to_owned(), Some("C".to_owned()))));
        }
        all.extend(wanted.into_iter().map(|(name, value)| (name, Some(value))));
        Ok(all)
    }
}

impl CommandArguments {
    /// A command with default arguments.
    pub fn plain(cmd: Value) -> CommandArguments {
        CommandArguments {
            cmd,
            cwd: None,
            stdin: None,
            runas: None,
            group: None,
            shell: None,
            python_shell: None,
            env: Value::Null,
            clean_env: false,
            template: None,
            rstrip: true,
            umask: None,
            output_encoding: None,
            output_loglevel: None,
            log_callback: Value::Null,
            hide_output: false,
            timeout: None,
            reset_system_locale: true,
            ignore_retcode: false,
            saltenv: None,
            use_vt: false,
            redirect_stderr: None,
            bg: false,
            password: None,
            encoded_cmd: false,
            raise_err: false,
            prepend_path: None,
            success_retcodes: Vec::new(),
            success_stdout: Vec::new(),
            success_stderr: Vec::new(),
        }
    }
}

fn default_shell(machine: &dyn Probe) -> String {
    let usable = |shell: &String| {
        let name = shell.rsplit('/').next().unwrap_or_default();
        let posix = matches!(name, "sh" | "ash" | "bash" | "dash" | "ksh" | "mksh" | "zsh");
        posix && matches!(machine.stat(Path::new(shell), true), Ok(Some(_)))
    };
    machine.env("SHELL").filter(usable).unwrap_or_else(|| "/bin/sh".into())
}

/// Starts the command from a shell that prints the process id and ends at once.
fn in_background(command: Command) -> Command {
    let starter = ["/bin/sh", "-c", "\"$@\" </dev/null >/dev/null 2>&1 & echo $!", "sh"];
    let argv = starter.iter().map(|word| (*word).to_owned()).chain(command.argv).collect();
    // Nobody remains to write its input or to enforce a time limit.
    Command { argv, stdin: None, timeout: None, merge_stderr: false, ..command }
}

fn variables(env: &Value, found: &mut Vec<(String, String)>) -> Result<()> {
    let text = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    match env {
        Value::Null => {}
        Value::Map(map) => found.extend(map.iter().map(|(name, value)| (name.to_string(), text(value)))),
        Value::List(items) => items.iter().try_for_each(|item| variables(item, found))?,
        Value::String(pair) if pair.is_empty() => {}
        Value::String(pair) => match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => found.push((name.to_owned(), value.to_owned())),
            _ => return Err(Error::arguments(format!("env: '{pair}' is not NAME=value"))),
        },
        other => return Err(Error::arguments(format!("env: expected names and values, found {}", other.kind()))),
    }
    if let Some((name, _)) = found.iter().find(|(name, value)| name.contains(['=', '\0']) || value.contains('\0')) {
        return Err(Error::arguments(format!("env: '{}' can't be a variable", name.escape_debug())));
    }
    Ok(())
}

fn umask(text: &str) -> Result<u32> {
    u32::from_str_radix(text.trim(), 8)
        .ok()
        .filter(|mask| *mask <= 0o7777)
        .ok_or_else(|| Error::arguments(format!("Invalid umask: '{text}'")).hint("give it in octal, as in 077"))
}

fn seconds(timeout: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(timeout)
        .map_err(|_| Error::arguments(format!("timeout: {timeout} is no length of time in seconds")))
}
