//! Running scripts and pieces of code.

use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::Function;
use super::arguments::CommandArguments;
use super::finished::{All, Code, CommandText};
use crate::catalog::cp::source;
use crate::machine::{System, Template, accounts};
use crate::text::{digest, words};
use crate::{Error, Result};

/// Fetches a script and runs it on the target.
///
/// ```text
/// rocksalt '*' cmd.script salt://scripts/install.sh
/// rocksalt '*' cmd.script salt://scripts/install.sh '--force "two words"' cwd=/srv
/// ```
///
/// The result has the exit code, the process id, the output and standard error. The copy of the
/// script that ran is removed again.
#[function("cmd.script", changes, no_rest)]
pub struct Script(ScriptArguments);

impl Function for Script {
    type Output = All;

    fn call(self, machine: &dyn System) -> Result<All> {
        self.0.execute(machine)
    }

    fn retcode(output: &All) -> i32 {
        output.counted
    }
}

/// As `cmd.script`, but returns only the script's exit code.
///
/// ```text
/// rocksalt '*' cmd.script_retcode salt://scripts/check.sh
/// ```
#[function("cmd.script_retcode", changes, no_rest)]
pub struct ScriptRetcode(ScriptArguments);

impl Function for ScriptRetcode {
    type Output = Code;

    fn call(self, machine: &dyn System) -> Result<Code> {
        let all = self.0.execute(machine)?;
        Ok(Code { retcode: all.retcode, counted: all.counted })
    }

    fn retcode(output: &Code) -> i32 {
        output.counted
    }
}

/// Runs a piece of code with a language's interpreter and returns its output.
///
/// ```text
/// rocksalt '*' cmd.exec_code ruby 'puts "cheese"'
/// rocksalt '*' cmd.exec_code python3 'import sys; print(sys.argv[1:])' args='[a, b]'
/// ```
#[function("cmd.exec_code", changes, no_rest)]
pub struct ExecCode(CodeArguments);

impl Function for ExecCode {
    type Output = CommandText;

    fn call(self, machine: &dyn System) -> Result<CommandText> {
        let all = self.0.execute(machine)?;
        Ok(CommandText { text: all.stdout, counted: all.counted })
    }

    fn retcode(output: &CommandText) -> i32 {
        output.counted
    }
}

/// As `cmd.exec_code`, with exit code, process id, output and standard error.
///
/// ```text
/// rocksalt '*' cmd.exec_code_all ruby 'puts "cheese"'
/// ```
#[function("cmd.exec_code_all", changes, no_rest)]
pub struct ExecCodeAll(CodeArguments);

impl Function for ExecCodeAll {
    type Output = All;

    fn call(self, machine: &dyn System) -> Result<All> {
        self.0.execute(machine)
    }

    fn retcode(output: &All) -> i32 {
        output.counted
    }
}

/// A script, and how to run it.
#[arguments]
#[allow(dead_code, reason = "some are only taken because Salt's users give them")]
pub struct ScriptArguments {
    /// `salt://…`, `http(s)://…` or a path on the target.
    pub source: String,
    /// What follows the script on its command line: a text for the shell, or a list of words.
    args: Value,
    /// The directory to run in, absolute. Else it is the user's home.
    cwd: Option<String>,
    /// What the script reads from its standard input.
    #[secret]
    stdin: Option<String>,
    /// Run as this user, with its groups, home and shell variables.
    runas: Option<String>,
    /// Run with this group as the first one.
    group: Option<String>,
    /// The shell that reads the command line; the script's own first line says what runs the script.
    shell: Option<String>,
    /// Whether a shell reads `args`. Without, it is split into words and nothing is expanded.
    python_shell: Option<bool>,
    /// Variables for the script: a map, a list of maps, or `NAME=value`.
    env: Value,
    /// Render the script first, with this renderer: `jinja`.
    template: Option<String>,
    /// Variables for the template.
    context: Map,
    /// Variables for the template, where `context` has none.
    defaults: Map,
    /// The umask for the script, in octal.
    umask: Option<String>,
    /// Output is always read as UTF-8; only that is taken.
    output_encoding: Option<String>,
    /// The level at which the output is logged; `quiet` for not at all.
    output_loglevel: Option<String>,
    /// Accepted and ignored.
    log_callback: Value,
    /// Return no output.
    hide_output: bool,
    /// End the script and all that it started after this many seconds.
    timeout: Option<f64>,
    /// Run in the C locale, whatever the machine's own.
    #[default(true)]
    reset_system_locale: bool,
    /// The environment that `salt://` files are read from.
    pub saltenv: Option<String>,
    /// Accepted and ignored: output is streamed anyway.
    use_vt: bool,
    /// Start it and don't wait for it.
    bg: bool,
    /// Only used on Windows.
    #[secret]
    password: Option<String>,
    /// Exit codes that count as success besides 0.
    success_retcodes: Vec<i32>,
    /// Texts whose presence in the output counts as success.
    success_stdout: Vec<String>,
    /// Texts whose presence in standard error counts as success.
    success_stderr: Vec<String>,
}

impl ScriptArguments {
    fn execute(self, machine: &dyn System) -> Result<All> {
        let content = source::content(machine, &self.source, self.saltenv.as_deref())?;
        self.execute_content(machine, content)
    }

    /// Runs the script with the fetched content; `None` if it does not exist.
    pub fn execute_content(mut self, machine: &dyn System, content: Option<Vec<u8>>) -> Result<All> {
        let Some(mut content) = content else {
            // Salt's result for a script that does not exist.
            let none = String::new();
            return Ok(All { pid: 0, retcode: 1, stdout: none.clone(), stderr: none, cache_error: true, counted: 1 });
        };
        if let Some(renderer) = self.template.take() {
            let mut context = std::mem::take(&mut self.defaults);
            context.extend(std::mem::take(&mut self.context));
            let text = String::from_utf8_lossy(&content);
            let saltenv = self.saltenv.as_deref().unwrap_or("base");
            let template = Template { renderer: &renderer, text: &text, source: &self.source, saltenv, context };
            content = machine.templates().render(&template)?.into_bytes();
        }
        let name = self.source.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("script");
        let place = Workplace::make(machine, self.runas.as_deref())?;
        let script = place.put(name, &content, 0o500)?;
        let script = words::quote(&script.to_string_lossy());
        let mut line = match &self.args {
            Value::Null => script,
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                format!("{script} {}", words::join(&items))
            }
            other => format!("{script} {other}"),
        };
        let (mut python_shell, mut kept) = (self.python_shell, None);
        if self.bg {
            line = format!("{line}; rm -rf -- {}", words::quote(&place.path.to_string_lossy()));
            python_shell = Some(true);
            kept = Some(());
        }
        let arguments = CommandArguments {
            cwd: self.cwd,
            stdin: self.stdin,
            runas: self.runas,
            group: self.group,
            shell: self.shell,
            python_shell,
            env: self.env,
            umask: self.umask,
            output_encoding: self.output_encoding,
            hide_output: self.hide_output,
            timeout: self.timeout,
            reset_system_locale: self.reset_system_locale,
            bg: self.bg,
            password: self.password,
            success_retcodes: self.success_retcodes,
            success_stdout: self.success_stdout,
            success_stderr: self.success_stderr,
            ..CommandArguments::plain(line.into())
        };
        let finished = arguments.execute(machine, false);
        if kept.is_some() && finished.is_ok() {
            std::mem::forget(place);
        }
        Ok(finished?.all())
    }
}

/// A piece of code, and what runs it.
#[arguments]
struct CodeArguments {
    /// The interpreter's name or path.
    lang: String,
    /// The code.
    code: String,
    /// The directory to run in, absolute.
    cwd: Option<String>,
    /// Words for the code, as a list or a text.
    args: Value,
}

impl CodeArguments {
    fn execute(self, machine: &dyn System) -> Result<All> {
        let place = Workplace::make(machine, None)?;
        let file = place.put("code", self.code.as_bytes(), 0o600)?;
        let mut argv: Vec<Value> = vec![self.lang.into(), file.to_string_lossy().into_owned().into()];
        match self.args {
            Value::Null => {}
            Value::List(items) => argv.extend(items),
            text => {
                let words = words::split(&text.to_string())
                    .map_err(|reason| Error::arguments(format!("args: could not split '{text}': {reason}")))?;
                argv.extend(words.into_iter().map(Value::from));
            }
        }
        let mut arguments = CommandArguments::plain(argv.into());
        arguments.cwd = self.cwd;
        Ok(arguments.execute(machine, false)?.all())
    }
}

/// A temporary directory that belongs to the user of the command; removed when dropped.
struct Workplace<'a> {
    machine: &'a dyn System,
    path: PathBuf,
    owner: Option<(u32, u32)>,
}

impl<'a> Workplace<'a> {
    fn make(machine: &'a dyn System, user: Option<&str>) -> Result<Workplace<'a>> {
        let owner = match user {
            None => None,
            Some(name) => {
                let user = accounts::user(machine, name)
                    .ok_or_else(|| Error::failed(format!("User '{name}' is not available")))?;
                Some((user.uid, user.gid))
            }
        };
        for attempt in 0..100 {
            let seed = format!("{} {} {attempt}", machine.now(), std::process::id());
            let name = &digest::of(digest::DigestAlgorithm::Sha256, seed.as_bytes())[..16];
            let path = Path::new("/tmp").join(format!("rocksalt-{name}"));
            // Fails if the path exists, so nobody can prepare it for an attack.
            match machine.make_dir(&path, 0o700) {
                Ok(()) => return Ok(Workplace { machine, path, owner }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make the directory", &path, &error)),
            }
        }
        Err(Error::failed("could not make a directory in /tmp: all names are taken"))
    }

    fn put(&self, name: &str, content: &[u8], mode: u32) -> Result<PathBuf> {
        let path = self.path.join(name);
        self.machine.write(&path, content, Some(mode)).map_err(|error| Error::io("write", &path, &error))?;
        if let Some((uid, gid)) = self.owner {
            for path in [&path, &self.path] {
                self.machine
                    .set_owner(path, Some(uid), Some(gid), false)
                    .map_err(|error| Error::io("set the owner of", path, &error))?;
            }
        }
        Ok(path)
    }
}

impl Drop for Workplace<'_> {
    fn drop(&mut self) {
        // If this fails, files remain in /tmp; there is no way to report that.
        let _ = self.machine.remove(&self.path);
    }
}
