//! Which keys hosts have: `known_hosts` read, checked against and added to.
//!
//! Invariant (rule R8): only a recorded key or a certificate of a recorded authority makes a host
//! [`Verdict::Known`]; a line that can't be read never does.

mod add;
mod check;
mod entry;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub use add::add;
pub use check::{KeyTypes, Verdict, check, fingerprint, key_types, rsa_bits};
pub use entry::{Entry, Hosts, Marker, name as named};

/// What some files say.
#[derive(Clone, Debug, Default)]
pub struct KnownHosts {
    pub entries: Vec<Entry>,
    /// Lines and files that could not be read, with their place. They are skipped.
    pub problems: Vec<String>,
}

impl KnownHosts {
    /// Reads files, in order. One that isn't there says nothing.
    pub fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) -> KnownHosts {
        let mut known = KnownHosts::default();
        for path in paths {
            match fs::read(path) {
                // A name or a comment may be in any encoding; that must not hide the other lines.
                Ok(bytes) => known.parse(&String::from_utf8_lossy(&bytes), &path.display().to_string()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => known.problems.push(format!("cannot read {}: {error}", path.display())),
            }
        }
        known
    }

    /// Adds what a text says.
    pub fn parse(&mut self, text: &str, file: &str) {
        for (number, text) in text.lines().enumerate() {
            let origin = format!("{file}:{}", number + 1);
            match entry::line(text, &origin) {
                Ok(None) => {}
                Ok(Some(entry)) => self.entries.push(entry),
                Err(why) => self.problems.push(format!("{origin}: {why}")),
            }
        }
    }
}
