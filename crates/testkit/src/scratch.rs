//! [`Scratch`]: a project directory for one test, in which the real binary is run.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bed::Bed;
use crate::error::{Error, FileContext};
use crate::process::{self, Usage, poll};
use crate::roster::{TestbedEntry, roster};

/// The environment variable that marks every process of a run, so that none outlives the test.
const MARK: &str = "ROCKSALT_SCRATCH";

/// A private configuration directory, home and runtime directory.
#[derive(Debug)]
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Result<Scratch, Error> {
        let directory = tempfile::tempdir().file("create a directory in", std::env::temp_dir())?;
        for name in ["config", "home", "runtime", "cache", "state", "data", "tmp"] {
            let path = directory.path().join(name);
            fs::create_dir(&path).file("create", &path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).file("set the mode of", &path)?;
        }
        Ok(Scratch { directory })
    }

    /// Creates a scratch with a roster of these targets.
    pub fn with_roster(entries: &[TestbedEntry]) -> Result<Scratch, Error> {
        let scratch = Scratch::new()?;
        scratch.write("config/roster", &roster(entries))?;
        Ok(scratch)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file that only the user can read, since it may contain passwords.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).file("create", parent)?;
        }
        fs::write(&path, text).file("write", &path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).file("set the mode of", &path)?;
        Ok(path)
    }

    /// Prepares a run of the real binary with this scratch's configuration and roster, on this machine's network.
    pub fn rocksalt<I: Into<OsString>>(&self, arguments: impl IntoIterator<Item = I>) -> Result<Run<'_>, Error> {
        Ok(Run::new(self, Command::new(rocksalt_binary()?), arguments))
    }

    /// Like [`Scratch::rocksalt`], but inside the network of a bed.
    pub fn rocksalt_in<I: Into<OsString>>(
        &self,
        bed: &Bed,
        arguments: impl IntoIterator<Item = I>,
    ) -> Result<Run<'_>, Error> {
        Ok(Run::new(self, bed.command(rocksalt_binary()?), arguments))
    }

    /// The background processes that runs have left: the keeper and its children.
    pub fn processes(&self) -> Vec<i32> {
        process::with_environment(MARK, &self.mark())
    }

    /// The resources that each process of this scratch uses, including running commands.
    pub fn usage(&self) -> Vec<Usage> {
        self.processes().into_iter().filter_map(Usage::of).collect()
    }

    /// Kills all processes that runs have left, with SIGKILL.
    pub fn kill_all(&self) {
        let gone = || {
            let left = self.processes();
            left.iter().for_each(|pid| process::signal(*pid, Signal::KILL));
            left.is_empty().then_some(())
        };
        poll(Duration::from_secs(5), gone);
    }

    fn mark(&self) -> String {
        self.directory.path().display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// A run of the binary that isn't started yet.
#[derive(Debug)]
pub struct Run<'a> {
    scratch: &'a Scratch,
    command: Command,
    limit: Duration,
    input: Option<String>,
}

impl<'a> Run<'a> {
    fn new<I: Into<OsString>>(
        scratch: &'a Scratch,
        mut command: Command,
        arguments: impl IntoIterator<Item = I>,
    ) -> Run<'a> {
        let path = |name| scratch.path(name);
        command.arg("--config-dir").arg(path("config"));
        if path("config/roster").exists() {
            command.arg("--roster").arg(path("config/roster"));
        }
        command.args(arguments.into_iter().map(Into::into));
        command.env_clear().env(MARK, scratch.mark());
        for name in ["PATH", "LANG", "ROCKSALT_AGENTS", "RUST_BACKTRACE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, directory) in [
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "runtime"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, path(directory));
        }
        command.current_dir(path("home"));
        Run { scratch, command, limit: Duration::from_secs(60), input: None }
    }

    /// Sets the time limit: a run that takes longer is killed and is an error.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Sets the run's standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Starts the run and waits for its end.
    pub fn finish(self) -> Result<Outcome, Error> {
        self.spawn()?.finish()
    }

    /// Starts the run without waiting for its end.
    pub fn spawn(mut self) -> Result<Started, Error> {
        let program = format!("rocksalt in {}", self.scratch.mark());
        let began = Instant::now();
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let spawned = self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|source| Error::Start { program: program.clone(), source })?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), self.input) {
            thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
        }
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Ok(Started { program, child, stdout, stderr, began, limit: self.limit })
    }
}

/// A run that was started.
#[derive(Debug)]
pub struct Started {
    program: String,
    child: Child,
    stdout: Option<Collected>,
    stderr: Option<Collected>,
    began: Instant,
    limit: Duration,
}

impl Started {
    /// The process id. `nsenter` execs the binary, so the id stays the same.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn kill(&self) {
        process::signal(self.pid(), Signal::KILL);
    }

    /// Sends SIGINT, like Ctrl-C.
    pub fn interrupt(&self) {
        process::signal(self.pid(), Signal::INT);
    }

    /// Waits for the end; kills the run after its limit.
    pub fn finish(mut self) -> Result<Outcome, Error> {
        let limit = self.limit.saturating_sub(self.began.elapsed());
        let ended = poll(limit, || self.child.try_wait().ok().flatten());
        let took = self.began.elapsed();
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // Waits for the pipes to close: a keeper that inherited them would make `$(rocksalt …)` hang in a shell.
        let patience = Instant::now() + Duration::from_secs(2);
        let (stdout, stdout_closed) = take(self.stdout.take(), patience);
        let (stderr, stderr_closed) = take(self.stderr.take(), patience);
        let output = || format!("{stdout}{stderr}");
        let Some(status) = ended else {
            return Err(Error::TimedOut { program: self.program, seconds: self.limit.as_secs(), output: output() });
        };
        if !(stdout_closed && stderr_closed) {
            return Err(Error::OutputHeldOpen { program: self.program, output: output() });
        }
        Ok(Outcome { stdout, stderr, status, took })
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub status: ExitStatus,
    pub took: Duration,
}

impl Outcome {
    /// The exit code; `None` if a signal ended the run.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Parses stdout as one JSON value.
    pub fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(&self.stdout)
    }

    /// Status and all output, for messages of failed tests.
    pub fn all(&self) -> String {
        format!("{} after {:.1?}\nstdout:\n{}\nstderr:\n{}", self.status, self.took, self.stdout, self.stderr)
    }
}

/// The binary under test: `ROCKSALT_BIN`, or the one that cargo built beside the running test.
pub fn rocksalt_binary() -> Result<PathBuf, Error> {
    let path = match std::env::var_os("ROCKSALT_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside_this_program("rocksalt"),
    };
    if path.exists() { Ok(path) } else { Err(Error::NoBinary(path)) }
}

fn beside_this_program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    // Test binaries are in `deps`, one level below the other binaries.
    let places = own.ancestors().skip(1).take(2).map(|directory| directory.join(name));
    let fallback = Path::new("target/debug").join(name);
    places.into_iter().find(|path| path.exists()).unwrap_or(fallback)
}

type Collected = mpsc::Receiver<Vec<u8>>;

fn collect(mut pipe: impl Read + Send + 'static) -> Collected {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The collected output, and whether the pipe was closed in time.
fn take(collected: Option<Collected>, patience: Instant) -> (String, bool) {
    let mut bytes = Vec::new();
    let Some(collected) = collected else { return (String::new(), true) };
    let closed = loop {
        match collected.recv_timeout(patience.saturating_duration_since(Instant::now())) {
            Ok(more) => bytes.extend(more),
            Err(mpsc::RecvTimeoutError::Disconnected) => break true,
            Err(mpsc::RecvTimeoutError::Timeout) => break false,
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prepares a run of a shell instead of the product.
    fn shell<'a>(scratch: &'a Scratch, lines: &str) -> Run<'a> {
        let mut command = Command::new("sh");
        command.args(["-c", lines]);
        Run::new(scratch, command, ["first", "second"])
    }

    #[test]
    fn a_run_sees_only_its_own_directories_and_its_end_is_reported() {
        let scratch = Scratch::with_roster(&[TestbedEntry::new("h1", "10.0.0.1")]).expect("a scratch");
        let outcome = shell(&scratch, "echo $HOME; echo $# >&2; exit 7").finish().expect("it ends");
        assert_eq!(outcome.stdout.trim(), scratch.path("home").display().to_string());
        // `sh -c` takes `--config-dir` as `$0`, so five arguments follow: its value, `--roster` and its value, and the
        // test's two.
        assert_eq!((outcome.stderr.trim(), outcome.code()), ("5", Some(7)));
    }

    #[test]
    fn what_takes_too_long_is_killed() {
        let scratch = Scratch::new().expect("a scratch");
        let error = shell(&scratch, "echo begun; exec sleep 60").limit(Duration::from_millis(300)).finish();
        assert!(matches!(&error, Err(Error::TimedOut { output, .. }) if output == "begun\n"), "{error:?}");
    }

    #[test]
    fn a_background_process_must_not_hold_the_output_and_ends_with_the_scratch() {
        let scratch = Scratch::new().expect("a scratch");
        let error = shell(&scratch, "sleep 60 & echo done").finish();
        assert!(matches!(error, Err(Error::OutputHeldOpen { .. })), "{error:?}");
        shell(&scratch, "sleep 60 >/dev/null 2>&1 & echo done").finish().expect("it closes its output");
        let left = scratch.processes();
        assert_eq!(left.len(), 2, "{left:?}");
        drop(scratch);
        assert!(left.iter().all(|pid| process::Identity::of(*pid).is_none()), "{left:?}");
    }
}
