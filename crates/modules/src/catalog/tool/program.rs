//! [`Tool`]: a program on the target that a noun uses, and how to run it.

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::super::file::{absolute, expand};
use super::super::git::redacted;
use crate::machine::{Command, Output, Probe, System, accounts};
use crate::{Error, Result};

/// A program with its first arguments, its user, directory and environment.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Tool {
    pub argv: Vec<String>,
    pub user: Option<String>,
    pub cwd: Option<String>,
    pub env: Vec<(String, Option<String>)>,
}

impl Tool {
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(argv: I) -> Tool {
        Tool { argv: argv.into_iter().map(Into::into).collect(), ..Tool::default() }
    }

    /// Runs it for reading.
    pub fn look<S: AsRef<str>>(&self, machine: &dyn Probe, words: &[S]) -> Result<Output> {
        machine.query(&self.command(machine, words)?)
    }

    /// Runs it for a change.
    pub fn act<S: AsRef<str>>(&self, machine: &dyn System, words: &[S]) -> Result<Output> {
        machine.run(&self.command(machine, words)?)
    }

    /// Its output; an error with the whole output if it fails.
    pub fn text<S: AsRef<str>>(&self, machine: &dyn Probe, words: &[S]) -> Result<String> {
        let output = self.look(machine, words)?;
        if output.success() { Ok(output.text()) } else { Err(self.failed(words, &output)) }
    }

    /// Why it failed, with the command.
    pub fn failed<S: AsRef<str>>(&self, words: &[S], output: &Output) -> Error {
        let argv: Vec<&str> = self.argv.iter().map(String::as_str).chain(words.iter().map(AsRef::as_ref)).collect();
        Error::failed(failure(&argv, output))
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Tool {
        self.env.push((name.to_owned(), Some(value.into())));
        self
    }

    pub fn command<S: AsRef<str>>(&self, machine: &dyn Probe, words: &[S]) -> Result<Command> {
        let argv = self.argv.iter().cloned().chain(words.iter().map(|word| word.as_ref().to_owned()));
        let mut command = Command::new(argv);
        let home = match &self.user {
            Some(user) => accounts::user(machine, user).map(|user| user.home),
            None => machine.env("HOME"),
        };
        // The user may have no access to the agent's working directory.
        command.cwd = match &self.cwd {
            Some(cwd) => Some(absolute(machine, cwd)?),
            None => Some(expand(machine, home.as_deref().unwrap_or("/")))
                .filter(|path| path.is_absolute() && matches!(machine.stat(path, true), Ok(Some(_)))),
        }
        .or_else(|| Some("/".into()));
        let own = accounts::own_uid(machine);
        let is_own = |name: &String| own != 0 && accounts::user(machine, name).is_some_and(|user| user.uid == own);
        command.user = self.user.clone().filter(|name| !is_own(name));
        command.env = vec![("LC_ALL".into(), Some("C.UTF-8".into()))];
        command.env.extend(self.env.iter().cloned());
        Ok(command)
    }
}

/// The command that failed and its output, without passwords in URLs.
pub fn failure<S: AsRef<str>>(argv: &[S], output: &Output) -> String {
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    redacted(&format!("'{}' failed with exit code {}: {}", argv.join(" "), output.code, said(output)))
}

/// Both outputs as one text.
pub fn said(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    both.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

/// The result of a command in the form of `cmd.run_all`.
pub fn ended(output: &Output) -> Map {
    let text = |bytes: &[u8]| redacted(String::from_utf8_lossy(bytes).trim_end());
    Map::from_iter([
        ("pid".into(), i64::from(output.pid).into()),
        ("retcode".into(), i64::from(output.code).into()),
        ("stdout".into(), text(&output.stdout).into()),
        ("stderr".into(), text(&output.stderr).into()),
    ])
}

/// Parses variables as users write them.
pub fn variables(env: &Value) -> Result<Vec<(String, Option<String>)>> {
    match env {
        Value::Null => Ok(Vec::new()),
        Value::Map(map) => Ok(map.iter().map(|(name, value)| (name.to_string(), Some(value.to_string()))).collect()),
        other => Err(Error::arguments(format!("env_vars {other} is not a dictionary"))),
    }
}
