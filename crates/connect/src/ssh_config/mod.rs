//! Reads OpenSSH's client configuration: the settings of a host in `~/.ssh/config`.
//!
//! [`load()`] reads the files, [`SshConfig::resolve`] computes the settings of one host. Values agree
//! with `ssh -G`; a test compares them. Settings that change where or how ssh connects, and that the
//! native transport does not support, are in [`HostSettings::unsupported`].

mod jump;
mod keywords;
mod load;
mod parse;
mod pattern;
mod raw_settings;
mod resolve;
mod settings;
mod tokens;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use rocksalt_core::roster::RosterEntry;

use crate::LocalUser;

pub use jump::{Jump, is_name};
pub use keywords::Effect;
pub use load::{load, load_files};
pub use parse::{ConfigProblem, DirectiveOrigin, Included, Read};
pub(crate) use pattern::matches_any;
pub use settings::{AddressFamily, HostSettings, IdentityAgent, StrictHostKeyChecking, UnsupportedSetting};

/// A parsed configuration of one or more files.
#[derive(Clone, Debug, Default)]
pub struct SshConfig {
    /// The first file has precedence.
    files: Vec<Vec<parse::Directive>>,
}

/// The host to connect to, with the settings of the roster, which take precedence over the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub host: &'a str,
    pub user: Option<&'a str>,
    pub port: Option<u16>,
    pub proxy_jump: Option<&'a str>,
}

impl<'a> Query<'a> {
    pub fn new(host: &'a str) -> Query<'a> {
        Query { host, user: None, port: None, proxy_jump: None }
    }

    pub fn from_entry(entry: &'a RosterEntry) -> Query<'a> {
        Query {
            host: &entry.host,
            user: entry.user.as_deref(),
            port: entry.port,
            proxy_jump: entry.proxy_jump.as_deref(),
        }
    }
}

impl SshConfig {
    /// Parses one text. `Include` finds no files; [`load_files`] reads files.
    pub fn parse(text: &str, origin: &str) -> Result<SshConfig, BadConfig> {
        SshConfig::parse_with(text, origin, &|_| Vec::new())
    }

    /// Parses one text; `read` reads the files that it includes.
    pub fn parse_with(text: &str, origin: &str, read: Read<'_>) -> Result<SshConfig, BadConfig> {
        let mut bad = BadConfig::default();
        let directives = parse::directives(text, origin, read, 0, &mut bad.problems);
        if bad.is_empty() { Ok(SshConfig { files: vec![directives] }) } else { Err(bad) }
    }

    /// The settings of a host. Runs no program and reads no file.
    pub fn resolve(&self, query: &Query<'_>, local: &LocalUser) -> Result<HostSettings, ResolveError> {
        resolve::resolve(self, query, local)
    }
}

/// All problems of a configuration, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadConfig {
    pub unreadable: Vec<String>,
    pub problems: Vec<ConfigProblem>,
}

impl BadConfig {
    fn is_empty(&self) -> bool {
        self.unreadable.is_empty() && self.problems.is_empty()
    }
}

impl std::error::Error for BadConfig {}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.problems.iter().map(ConfigProblem::to_string);
        let lines: Vec<String> = self.unreadable.iter().cloned().chain(problems).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A value that can't be expanded for this host: it has an unknown token or variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ssh configuration: {0}")]
pub struct ResolveError(pub(crate) String);
