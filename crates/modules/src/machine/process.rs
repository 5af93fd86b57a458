//! Runs a child process with a time limit, and ends everything that it started on a cancel.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{self, Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::accounts::User;
use super::child_guard::ChildGuard;
use super::signal::{Signal, signal_group};
use super::{Command, Output, Pipe, Sink, StopSignal};
use crate::{Error, Result};

/// How long a command may take to end after SIGTERM, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

enum News {
    Piece(Pipe, Vec<u8>),
    End,
    Exit(io::Result<ExitStatus>),
}

/// A command with everything that was resolved for it.
pub(super) struct ProcessSpec<'a> {
    pub command: &'a Command,
    /// The launcher and `prefix` precede the command's own arguments if it must run as another user.
    pub launcher: Option<&'a Path>,
    pub prefix: &'a [String],
    pub user: Option<&'a User>,
    pub environment: &'a [(String, String)],
    pub sink: Option<&'a Sink>,
    pub guard: &'a ChildGuard,
}

pub(super) fn run(wanted: &ProcessSpec<'_>, signal: &Signal) -> Result<Output> {
    let command = wanted.command;
    let Some(program) = command.argv.first() else { return Err(Error::arguments("there is no command to run")) };
    if signal.cancelled() {
        return Err(Error::cancelled());
    }
    wanted.guard.starting();
    let (child, outlet) = spawn(wanted).map_err(|error| {
        wanted.guard.failed();
        start_error(program, command.cwd.as_deref(), &error)
    })?;
    let pid = child.id();
    wanted.guard.started(pid, command.finishes);
    signal.started(pid);
    let (merged, file) = match outlet {
        Outlet::Apart => (None, None),
        Outlet::Merged(merged) => (Some(merged), None),
        Outlet::File(file) => (None, Some(file)),
    };
    let mut output = attend(wanted, child, merged, signal);
    signal.ended(pid);
    wanted.guard.ended(pid);
    if let (Some(file), Ok(output)) = (file, &mut output) {
        output.stdout = sealed(file).unwrap_or_default();
    }
    output
}

/// The destination of a command's output.
enum Outlet {
    /// The two pipes of the child.
    Apart,
    Merged(io::PipeReader),
    /// A file in memory, which a daemon that the command leaves behind may keep open.
    File(File),
}

/// The content of the file. Seals it, so that it can't grow: later writes of the daemon fail, but don't fill the
/// memory, and unlike a closed pipe don't end the daemon by a signal.
fn sealed(mut file: File) -> io::Result<Vec<u8>> {
    rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::GROW)?;
    let mut content = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn spawn(wanted: &ProcessSpec<'_>) -> io::Result<(Child, Outlet)> {
    let command = wanted.command;
    let mut words = command.argv.iter();
    let mut process = match wanted.launcher {
        Some(launcher) if !wanted.prefix.is_empty() => {
            let mut process = process::Command::new(launcher);
            process.args(wanted.prefix);
            process
        }
        _ => process::Command::new(words.next().map_or("", String::as_str)),
    };
    process.args(words).env_clear();
    if !command.clean_env {
        process.envs(wanted.environment.iter().map(|(name, value)| (name, value)));
    }
    if let Some(user) = wanted.user {
        process.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name).env("SHELL", &user.shell);
    }
    for (name, value) in &command.env {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    if let Some(cwd) = &command.cwd {
        process.current_dir(cwd);
    }
    process.process_group(0).stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    if command.leaves_daemon {
        let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
        let file = File::from(rustix::fs::memfd_create("rocksalt-output", flags)?);
        process.stdout(file.try_clone()?).stderr(file.try_clone()?);
        return Ok((process.spawn()?, Outlet::File(file)));
    }
    if !command.merge_stderr {
        return Ok((process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?, Outlet::Apart));
    }
    let (reader, writer) = io::pipe()?;
    process.stdout(writer.try_clone()?).stderr(writer);
    // Drops `process` with our writing ends; otherwise the pipe would never end.
    Ok((process.spawn()?, Outlet::Merged(reader)))
}

/// Collects the output until the child has ended and nobody holds its pipes any more.
fn attend(wanted: &ProcessSpec<'_>, child: Child, merged: Option<io::PipeReader>, signal: &Signal) -> Result<Output> {
    let pid = child.id();
    let (news, mut open) = watch(child, merged, wanted.command.stdin.clone());
    let mut output = Output { pid, ..Output::default() };
    let mut deadline = wanted.command.timeout.map(|timeout| Instant::now() + timeout);
    let mut asked = false;
    let mut exited = false;
    while open > 0 || !exited {
        let left = deadline.map_or(Duration::from_secs(3600), |end| end.saturating_duration_since(Instant::now()));
        match news.recv_timeout(left) {
            Ok(News::Piece(pipe, bytes)) => {
                if let Some(sink) = wanted.sink {
                    sink(pipe, &bytes);
                }
                match pipe {
                    Pipe::Stdout => output.stdout.extend_from_slice(&bytes),
                    Pipe::Stderr => output.stderr.extend_from_slice(&bytes),
                }
            }
            Ok(News::End) => open -= 1,
            Ok(News::Exit(status)) => {
                exited = true;
                let status =
                    status.map_err(|error| Error::failed(format!("could not wait for the command: {error}")))?;
                output.code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(1));
                if signal.cancelled() {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) if deadline.is_none() => {}
            Err(RecvTimeoutError::Timeout) if !asked => {
                output.timed_out = true;
                asked = true;
                signal_group(pid, StopSignal::Term);
                deadline = Some(Instant::now() + GRACE);
            }
            Err(_) => break,
        }
    }
    if output.timed_out {
        // Ends everything that the command started and that still runs.
        signal_group(pid, StopSignal::Kill);
    }
    if signal.cancelled() {
        return Err(Error::cancelled());
    }
    Ok(output)
}

/// Starts the threads that write the input, read the pipes, and wait for the exit; also returns the number of open
/// pipes.
fn watch(mut child: Child, merged: Option<io::PipeReader>, input: Option<Vec<u8>>) -> (mpsc::Receiver<News>, usize) {
    let (sender, news) = mpsc::channel();
    let mut open = 0;
    if let Some(merged) = merged {
        open += 1;
        read_in_background(merged, Pipe::Stdout, sender.clone());
    }
    if let Some(stdout) = child.stdout.take() {
        open += 1;
        read_in_background(stdout, Pipe::Stdout, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        open += 1;
        read_in_background(stderr, Pipe::Stderr, sender.clone());
    }
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A command that doesn't read its input is no error.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
    std::thread::spawn(move || drop(sender.send(News::Exit(child.wait()))));
    (news, open)
}

fn read_in_background(mut pipe: impl Read + Send + 'static, name: Pipe, sender: mpsc::Sender<News>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    if sender.send(News::Piece(name, buffer[..count].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let _ = sender.send(News::End);
    });
}

fn start_error(program: &str, cwd: Option<&Path>, error: &io::Error) -> Error {
    // The system has the same error for a missing program and a missing directory.
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return Error::failed(format!("Specified cwd '{}' either not absolute or does not exist", cwd.display()));
    }
    Error::failed(format!("could not start '{program}': {}", crate::error::reason(error)))
}
