//! OpenSSH's client configuration: what `~/.ssh/config` says of a host.
//!
//! [`load()`] reads the files, [`Config::resolve`] says what holds for a host. Values agree with
//! `ssh -G`; a test compares them. What changes where or how one connects and can't be honoured
//! natively is in [`HostSettings::unhonoured`].

mod found;
mod jump;
mod keywords;
mod load;
mod parse;
mod pattern;
mod resolve;
mod settings;
mod tokens;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use rocksalt_core::roster::Entry;

pub use jump::{Jump, is_name};
pub use keywords::Effect;
pub use load::{load, load_files};
pub use parse::{Included, Origin, Problem, Read};
pub(crate) use pattern::any_fits;
pub use settings::{AddressFamily, HostSettings, IdentityAgent, StrictHostKeyChecking, Unhonoured};
pub use tokens::Local;

/// A configuration that was read, of one file or several.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// In the order they count.
    files: Vec<Vec<parse::Item>>,
}

/// Whom one wants to reach, and what the roster says already: that goes before the configuration.
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

    pub fn of(entry: &'a Entry) -> Query<'a> {
        Query {
            host: &entry.host,
            user: entry.user.as_deref(),
            port: entry.port,
            proxy_jump: entry.proxy_jump.as_deref(),
        }
    }
}

impl Config {
    /// Parses one text. `Include` finds nothing; [`load_files`] is for files.
    pub fn parse(text: &str, origin: &str) -> Result<Config, BadConfig> {
        Config::parse_with(text, origin, &|_| Vec::new())
    }

    /// Parses one text, with `read` for what it includes.
    pub fn parse_with(text: &str, origin: &str, read: Read<'_>) -> Result<Config, BadConfig> {
        let mut bad = BadConfig::default();
        let items = parse::items(text, origin, read, 0, &mut bad.problems);
        if bad.is_empty() { Ok(Config { files: vec![items] }) } else { Err(bad) }
    }

    /// What holds for a host. Runs nothing and reads nothing.
    pub fn resolve(&self, query: &Query<'_>, local: &Local) -> Result<HostSettings, ResolveError> {
        resolve::resolve(self, query, local)
    }
}

/// All that is wrong with a configuration, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadConfig {
    pub unreadable: Vec<String>,
    pub problems: Vec<Problem>,
}

impl BadConfig {
    fn is_empty(&self) -> bool {
        self.unreadable.is_empty() && self.problems.is_empty()
    }
}

impl std::error::Error for BadConfig {}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.problems.iter().map(Problem::to_string);
        let lines: Vec<String> = self.unreadable.iter().cloned().chain(problems).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A value that can't be completed for this host: a token or a variable that isn't known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ssh configuration: {0}")]
pub struct ResolveError(pub(crate) String);
