//! Reads `known_hosts`, checks host keys against it and adds new ones.
//!
//! Invariant (docs/security-rules.md#r8): only a recorded key or a certificate of a recorded authority makes a host
//! [`HostKeyVerdict::Known`]; a line that can't be read never does.

mod add;
mod check;
mod known_host;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub use add::add;
pub use check::{HostKeyVerdict, KeyTypes, check, fingerprint, key_types, recorded_at, rsa_bits};
pub use known_host::{Hosts, KnownHost, Marker, name as named};

/// The entries of some known_hosts files.
#[derive(Clone, Debug, Default)]
pub struct KnownHosts {
    pub entries: Vec<KnownHost>,
    /// Lines and files that can't be read, with their location. They are skipped.
    pub problems: Vec<String>,
}

impl KnownHosts {
    /// Reads files, in order. A missing file counts as empty.
    pub fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) -> KnownHosts {
        let mut known = KnownHosts::default();
        for path in paths {
            match fs::read(path) {
                // A name or a comment may have any encoding; that must not hide the other lines.
                Ok(bytes) => known.parse(&String::from_utf8_lossy(&bytes), &path.display().to_string()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => known.problems.push(format!("cannot read {}: {error}", path.display())),
            }
        }
        known
    }

    /// Adds the entries of a text.
    pub fn parse(&mut self, text: &str, file: &str) {
        for (number, text) in text.lines().enumerate() {
            let origin = format!("{file}:{}", number + 1);
            match known_host::line(text, &origin) {
                Ok(None) => {}
                Ok(Some(entry)) => self.entries.push(entry),
                Err(why) => self.problems.push(format!("{origin}: {why}")),
            }
        }
    }
}
