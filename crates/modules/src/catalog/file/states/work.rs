//! [`Plan`]: what a state does to the machine, action by action, and how it ends if all goes well.

use std::io;
use std::path::Path;

use super::Verdict;
use crate::machine::{Command, Kind, Output, Probe, System};
use crate::text::words;
use crate::{Error, Result, error};

pub struct Plan {
    actions: Vec<Action>,
    /// The verdict if every action succeeds.
    pub done: Verdict,
    /// What stands before the reason if one fails.
    failure: &'static str,
}

/// A single change.
pub enum Action {
    /// Flags as `chattr` knows them.
    Attributes {
        path: String,
        flags: String,
        failure: String,
    },
    /// A command that must accept the new content before it is put in its place.
    Check(Check),
    /// A copy with owner, mode and times of the original.
    Copy {
        from: String,
        to: String,
    },
    /// What is known to fail.
    Fail(String),
    HardLink {
        existing: String,
        link: String,
    },
    /// A directory, with what it shall be like.
    MakeDirectory {
        path: String,
        mode: u32,
        uid: Option<u32>,
        gid: Option<u32>,
    },
    Mode {
        path: String,
        mode: u32,
        failure: String,
    },
    Owner {
        path: String,
        uid: Option<u32>,
        gid: Option<u32>,
        follow: bool,
        failure: String,
    },
    Remove(String),
    Rename {
        from: String,
        to: String,
    },
    /// A command whose failure is the state's, and what it reads.
    Run(Vec<String>, Option<Vec<u8>>),
    /// A command whose failure is told, but stops nothing.
    TryRun {
        argv: Vec<String>,
        failure: String,
    },
    /// The state fails, and this is its whole comment.
    Stop(String),
    Symlink {
        target: String,
        link: String,
    },
    Times {
        path: String,
        atime: f64,
        mtime: f64,
    },
    /// Replaces a file as a whole.
    Write {
        path: String,
        content: Vec<u8>,
        mode: Option<u32>,
    },
}

/// A look at new content by a command that gets its file's name as the last word.
pub struct Check {
    pub command: String,
    pub content: Vec<u8>,
    pub directory: Option<String>,
    pub ending: String,
}

/// Why an action did not work.
enum Fault {
    /// The rest is not done.
    Stops(String),
    /// The rest is done, but the verdict is bad.
    Told(String),
    /// The verdict is this one.
    Ends(Box<Verdict>),
}

impl Plan {
    pub fn new(done: Verdict) -> Plan {
        Plan { actions: Vec::new(), done, failure: "" }
    }

    #[must_use]
    pub fn then(mut self, action: Action) -> Plan {
        self.actions.push(action);
        self
    }

    #[must_use]
    pub fn all(mut self, actions: impl IntoIterator<Item = Action>) -> Plan {
        self.actions.extend(actions);
        self
    }

    /// What stands before the reason if an action fails.
    #[must_use]
    pub fn or(mut self, failure: &'static str) -> Plan {
        self.failure = failure;
        self
    }

    pub fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    pub fn perform(self, machine: &dyn System) -> Result<Verdict> {
        let mut verdict = self.done;
        let mut told = Vec::new();
        for action in self.actions {
            if machine.cancelled() {
                return Err(Error::cancelled());
            }
            match action.perform(machine) {
                Ok(()) => {}
                Err(Fault::Told(text)) => told.push(text),
                Err(Fault::Stops(text)) => return Ok(Verdict::bad(format!("{}{text}", self.failure))),
                Err(Fault::Ends(verdict)) => return Ok(*verdict),
            }
        }
        if !told.is_empty() {
            verdict.result = Some(false);
            verdict.comment = told.join("; ");
        }
        Ok(verdict)
    }
}

impl Action {
    fn perform(self, machine: &dyn System) -> Result<(), Fault> {
        match self {
            Action::Attributes { path, flags, failure } => {
                let done = machine.run(&Command::new(["chattr", &flags, "--", &path]));
                if done.is_ok_and(|output| output.success()) { Ok(()) } else { Err(Fault::Told(failure)) }
            }
            Action::Check(check) => check.perform(machine),
            Action::Copy { from, to } => copy(machine, &from, &to),
            Action::Fail(text) => Err(Fault::Told(text)),
            Action::HardLink { existing, link } => {
                stops(machine.hard_link(Path::new(&existing), Path::new(&link)), &link)
            }
            Action::MakeDirectory { path, mode, uid, gid } => {
                // Several steps of one plan may need it, and other states at the same time; the first one makes it.
                if super::look::is_directory(machine, &path) {
                    return Ok(());
                }
                let made = machine.make_dir(Path::new(&path), mode);
                if made.is_err() && super::look::is_directory(machine, &path) {
                    return Ok(());
                }
                stops(made, &path)?;
                if uid.is_some() || gid.is_some() {
                    stops(machine.set_owner(Path::new(&path), uid, gid, false), &path)?;
                }
                Ok(())
            }
            Action::Mode { path, mode, failure } => {
                machine.set_mode(Path::new(&path), mode).map_err(|_| Fault::Told(failure))
            }
            Action::Owner { path, uid, gid, follow, failure } => {
                machine.set_owner(Path::new(&path), uid, gid, follow).map_err(|_| Fault::Told(failure))
            }
            Action::Remove(path) => stops(machine.remove(Path::new(&path)), &path),
            Action::Rename { from, to } => rename(machine, &from, &to),
            Action::Run(argv, stdin) => {
                let text = ended(machine.run(&Command { stdin, ..Command::new(argv) })).err();
                text.map_or(Ok(()), |text| Err(Fault::Stops(text)))
            }
            Action::TryRun { argv, failure } => {
                ended(machine.run(&Command::new(argv))).map_err(|_| Fault::Told(failure))
            }
            Action::Stop(text) => Err(Fault::Ends(Box::new(Verdict::bad(text)))),
            Action::Symlink { target, link } => stops(machine.symlink(Path::new(&target), Path::new(&link)), &link),
            Action::Times { path, atime, mtime } => stops(machine.set_times(Path::new(&path), atime, mtime), &path),
            Action::Write { path, content, mode } => stops(machine.write(Path::new(&path), &content, mode), &path),
        }
    }
}

impl Check {
    fn perform(self, machine: &dyn System) -> Result<(), Fault> {
        let directory = self.directory.as_deref().filter(|path| !path.is_empty()).unwrap_or("/tmp");
        let number = (machine.now() * 1e9) as u64;
        let path = format!(
            "{}/.rocksalt-check-{}-{number}{}",
            directory.trim_end_matches('/'),
            std::process::id(),
            self.ending
        );
        stops(machine.write(Path::new(&path), &self.content, Some(0o600)), &path)?;
        let argv = words::split(&format!("{} {path}", self.command)).map_err(|text| Fault::Stops(text.to_owned()));
        let output = argv.map(|argv| machine.run(&Command::new(argv)));
        let _ = machine.remove(Path::new(&path));
        let output = match output? {
            Ok(output) if output.success() => return Ok(()),
            Ok(output) => output,
            Err(error) => Output { stderr: error.to_string().into_bytes(), ..Output::default() },
        };
        let mut comment = String::from("check_cmd execution failed");
        for said in [&output.stdout, &output.stderr] {
            let said = String::from_utf8_lossy(said);
            if !said.trim_end().is_empty() {
                comment.push('\n');
                comment.push_str(said.trim_end_matches('\n'));
            }
        }
        let mut verdict = Verdict::bad(comment);
        verdict.further.insert("skip_watch", true);
        Err(Fault::Ends(Box::new(verdict)))
    }
}

fn stops(done: io::Result<()>, path: &str) -> Result<(), Fault> {
    done.map_err(|error| Fault::Stops(python(&error, path)))
}

/// An error of the system as Python prints it, which people search for.
pub fn python(error: &io::Error, path: &str) -> String {
    match error.raw_os_error() {
        Some(number) => format!("[Errno {number}] {}: '{path}'", error::reason(error)),
        None => format!("{}: '{path}'", error::reason(error)),
    }
}

fn ended(done: Result<Output>) -> Result<(), String> {
    match done {
        Ok(output) if output.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn copy(machine: &dyn System, from: &str, to: &str) -> Result<(), Fault> {
    let (from, to) = (Path::new(from), Path::new(to));
    super::super::copy::copy_all(machine, from, to).map_err(|error| Fault::Stops(error.to_string()))
}

/// Onto another file system by copying.
fn rename(machine: &dyn System, from: &str, to: &str) -> Result<(), Fault> {
    match machine.rename(Path::new(from), Path::new(to)) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(machine, from, to)?;
            stops(machine.remove(Path::new(from)), from)
        }
        done => stops(done, from),
    }
}

/// The directories that must be made so that `path` is one, from the top down.
pub fn missing_directories(machine: &dyn Probe, path: &str) -> Vec<String> {
    let is_there = |path: &Path| matches!(machine.stat(path, true), Ok(Some(stat)) if stat.kind == Kind::Directory);
    let mut missing: Vec<String> = Path::new(path)
        .ancestors()
        .take_while(|path| !is_there(path))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    missing.reverse();
    missing
}
