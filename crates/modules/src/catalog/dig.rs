//! `dig`: addresses of a name, by the target's own `dig`.

use std::net::IpAddr;

use rocksalt_macros::{arguments, function};

use super::{CatalogFunction, Function, entry};
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<A>(), entry::<Aaaa>()];

/// A name, and the name server to ask.
#[arguments]
pub struct Question {
    /// The name.
    host: String,
    /// The name server to ask; else the target's own.
    nameserver: Option<String>,
}

impl Question {
    /// All addresses; none if the query failed, as in Salt.
    pub fn ask(self, machine: &dyn Probe, kind: &str) -> Result<Vec<String>> {
        for word in std::iter::once(&self.host).chain(&self.nameserver) {
            let allowed = |letter: char| letter.is_alphanumeric() || ".-_:%".contains(letter);
            if word.is_empty() || word.starts_with('-') || !word.chars().all(allowed) {
                return Err(Error::arguments(format!("'{word}' is neither a host name nor an address")));
            }
        }
        let mut argv = vec!["dig".to_owned(), "+short".into(), self.host, kind.into()];
        argv.extend(self.nameserver.map(|server| format!("@{server}")));
        let output = machine.query(&Command::new(argv))?;
        if !output.success() {
            return Ok(Vec::new());
        }
        let text = output.text();
        Ok(text.lines().filter(|line| line.parse::<IpAddr>().is_ok()).map(str::to_owned).collect())
    }
}

/// The IPv4 addresses of a name.
///
/// ```text
/// rocksalt '*' dig.A www.example.com
/// ```
#[function("dig.A", reads)]
pub struct A(Question);

impl Function for A {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        self.0.ask(machine, "A")
    }
}

/// The IPv6 addresses of a name.
///
/// ```text
/// rocksalt '*' dig.AAAA www.example.com nameserver=9.9.9.9
/// ```
#[function("dig.AAAA", reads)]
pub struct Aaaa(Question);

impl Function for Aaaa {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        self.0.ask(machine, "AAAA")
    }
}
