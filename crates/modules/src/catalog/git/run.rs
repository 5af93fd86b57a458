//! [`Git`]: the target's git, run in a directory, as a user, with access to remote repositories.

use std::path::{Path, PathBuf};

use super::access::{RemoteAccess, RemoteIdentity};
use crate::Error;
use crate::machine::{Command, Output, Probe, System, accounts};

/// git in a directory.
pub struct Git<'a> {
    on: On<'a>,
    cwd: PathBuf,
    user: Option<String>,
    access: RemoteAccess,
}

#[derive(Clone, Copy)]
enum On<'a> {
    Probe(&'a dyn Probe),
    System(&'a dyn System),
}

/// git failed.
#[derive(Debug)]
pub struct Fault {
    command: String,
    /// The whole output of git.
    pub said: String,
}

impl<'a> Git<'a> {
    /// For commands that only read.
    pub fn looking(machine: &'a dyn Probe, cwd: impl Into<PathBuf>, user: Option<&str>) -> Git<'a> {
        Git { on: On::Probe(machine), cwd: cwd.into(), user: user.map(str::to_owned), access: RemoteAccess::default() }
    }

    pub fn acting(machine: &'a dyn System, cwd: impl Into<PathBuf>, user: Option<&str>) -> Git<'a> {
        Git { on: On::System(machine), cwd: cwd.into(), user: user.map(str::to_owned), access: RemoteAccess::default() }
    }

    #[must_use]
    pub fn with(self, access: &RemoteAccess) -> Git<'a> {
        Git { access: access.clone(), ..self }
    }

    #[must_use]
    pub fn within(&self, cwd: &str) -> Git<'a> {
        Git { on: self.on, cwd: cwd.into(), user: self.user.clone(), access: self.access.clone() }
    }

    /// The standard output, without white space at the end.
    pub fn output<S: AsRef<str>>(&self, words: &[S]) -> Result<String, Fault> {
        self.text(words, false)
    }

    /// The id of the commit that a revision stands for, if it is in this repository.
    pub fn commit(&self, rev: &str) -> Option<String> {
        self.output(&["rev-parse", "--verify", "--quiet", &format!("{rev}^{{commit}}")]).ok()
    }

    /// Standard output and standard error, in that order.
    pub fn merged<S: AsRef<str>>(&self, words: &[S]) -> Result<String, Fault> {
        self.text(words, true)
    }

    /// The output and the exit code, whatever the code.
    pub fn end<S: AsRef<str>>(&self, words: &[S]) -> Result<Output, Error> {
        let words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
        self.run(&words, self.access.identities.first(), false)
    }

    fn text<S: AsRef<str>>(&self, words: &[S], merge: bool) -> Result<String, Fault> {
        let words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
        let shown = self.access.redact(&format!("git {}", words.join(" ")));
        let mut errors = Vec::new();
        let identities: Vec<Option<&RemoteIdentity>> = match self.access.identities.is_empty() {
            true => vec![None],
            false => self.access.identities.iter().map(Some).collect(),
        };
        for identity in &identities {
            if let Some(RemoteIdentity::File(path)) = identity
                && !matches!(self.probe().stat(Path::new(path), true), Ok(Some(_)))
            {
                errors.push(format!("The following identity file(s) were not found: {path}"));
                continue;
            }
            let output = match self.run(&words, *identity, merge) {
                Ok(output) if output.success() => return Ok(output.text().trim_end().to_owned()),
                Ok(output) => output,
                Err(error) => return Err(Fault { command: shown, said: error.to_string() }),
            };
            let said = if merge { &output.stdout } else { &output.stderr };
            errors.push(self.access.redact(String::from_utf8_lossy(said).trim_end()));
        }
        let said = match self.access.identities.is_empty() {
            true => errors.join("\n"),
            false => format!("Unable to authenticate using identity file:\n\n{}", errors.join("\n")),
        };
        Err(Fault { command: shown, said })
    }

    fn run(&self, words: &[String], identity: Option<&RemoteIdentity>, merge: bool) -> Result<Output, Error> {
        let mut command = self.access.command(words, identity);
        // The messages are parsed, and nobody can answer a prompt.
        for (name, value) in [("LC_ALL", "C"), ("LANGUAGE", "C"), ("GIT_TERMINAL_PROMPT", "0")] {
            command.env.push((name.into(), Some(value.into())));
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env.push((name.into(), None));
        }
        command.cwd = Some(self.cwd.clone());
        command.merge_stderr = merge;
        let own = accounts::own_uid(self.probe());
        let is_own = |name: &String| own != 0 && accounts::user(self.probe(), name).is_some_and(|user| user.uid == own);
        command.user = self.user.clone().filter(|name| !is_own(name));
        match self.on {
            On::Probe(machine) => {
                // Prevents even refreshing the index.
                command.env.push(("GIT_OPTIONAL_LOCKS".into(), Some("0".into())));
                machine.query(&command)
            }
            On::System(machine) => machine.run(&Command { ..command }),
        }
    }

    fn probe(&self) -> &dyn Probe {
        match self.on {
            On::Probe(machine) => machine,
            On::System(machine) => machine,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.said.is_empty() {
            true => write!(f, "Command '{}' failed", self.command),
            false => write!(f, "Command '{}' failed: {}", self.command, self.said),
        }
    }
}

impl Fault {
    /// The reason for states: git's own message.
    pub fn reason(&self) -> String {
        if self.said.is_empty() { self.to_string() } else { self.said.clone() }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::failed(fault.to_string())
    }
}
