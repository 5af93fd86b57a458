//! Arguments that most `git` functions share.

use rocksalt_core::Value;
use rocksalt_macros::arguments;

use super::access::RemoteAccess;
use super::run::Git;
use super::sound;
use crate::machine::System;
use crate::text::words;
use crate::{Error, Result};

/// Parses options for git: a list, or one text that is split into words.
pub fn options(opts: &Value) -> Result<Vec<String>> {
    let mut words = match opts {
        Value::Null => Vec::new(),
        Value::List(words) => words.iter().map(ToString::to_string).collect(),
        text => words::split(&text.to_string())
            .map_err(|reason| Error::arguments(format!("could not split the options '{text}': {reason}")))?,
    };
    if words.last().is_some_and(|word| word == "--") {
        words.pop();
    }
    Ok(words)
}

/// The whole command line: git's global options, a command, its options, and the rest.
pub fn line(git_opts: &Value, command: &[&str], opts: &Value, rest: &[&str]) -> Result<Vec<String>> {
    let mut line = options(git_opts)?;
    line.extend(command.iter().map(|word| (*word).to_owned()));
    line.extend(options(opts)?);
    line.extend(rest.iter().map(|word| (*word).to_owned()));
    Ok(line)
}

/// Whom to run git as, and what else all functions take.
#[arguments]
pub struct RunAs {
    /// The user to run git as.
    pub user: Option<String>,
    /// Only used on Windows.
    #[secret]
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    password: Value,
    /// Return an empty result instead of an error if git fails.
    pub ignore_retcode: bool,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Value,
}

impl RunAs {
    /// git in a repository that is only read.
    pub fn git<'a>(&self, machine: &'a dyn System, cwd: &str) -> Git<'a> {
        let user = self.user.as_deref();
        Git::looking(machine, sound::directory(machine, cwd, user), user)
    }
}

/// The options of a command, and whom to run it as.
#[arguments]
pub struct CommandOptions {
    /// Options of the command.
    pub opts: Value,
    /// Options of git itself.
    pub git_opts: Value,
    #[flatten]
    pub run_as: RunAs,
}

impl CommandOptions {
    /// git in a repository that may be changed.
    pub fn git<'a>(&self, machine: &'a dyn System, cwd: &str) -> Git<'a> {
        let user = self.run_as.user.as_deref();
        Git::acting(machine, sound::directory(machine, cwd, user), user)
    }

    pub fn line(&self, command: &[&str], rest: &[&str]) -> Result<Vec<String>> {
        line(&self.git_opts, command, &self.opts, rest)
    }
}

/// The options of a command that reaches a remote repository, with keys and passwords for it.
#[arguments]
pub struct AccessOptions {
    /// Options of the command.
    opts: Value,
    /// Options of git itself.
    git_opts: Value,
    /// The user to run git as.
    pub user: Option<String>,
    /// Only used on Windows.
    #[secret]
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    password: Value,
    /// The private key for ssh, or several: paths, or `salt://…`.
    identity: Value,
    /// The user's name for https.
    https_user: Option<String>,
    /// The password for https. It is in no argument and no message.
    #[secret]
    https_pass: Option<String>,
    /// Return an empty result instead of an error if git fails.
    pub ignore_retcode: bool,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Accepted and ignored: output is read as UTF-8.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    output_encoding: Value,
}

impl AccessOptions {
    /// git with access to a remote repository, and that repository's URL without a password.
    pub fn git<'a>(&self, machine: &'a dyn System, cwd: Option<&str>, url: &str) -> Result<(Git<'a>, String)> {
        let user = self.user.as_deref();
        let login = (self.https_user.as_deref(), self.https_pass.as_deref());
        let saltenv = self.saltenv.as_deref().unwrap_or("base");
        let cwd = cwd.map_or_else(|| "/".into(), |cwd| sound::directory(machine, cwd, user));
        let (url, access) =
            RemoteAccess::new(machine, url, &self.identity, login, saltenv).map_err(Error::arguments)?;
        Ok((Git::acting(machine, cwd, user).with(&access), url))
    }

    pub fn line(&self, command: &[&str], rest: &[&str]) -> Result<Vec<String>> {
        line(&self.git_opts, command, &self.opts, rest)
    }
}
