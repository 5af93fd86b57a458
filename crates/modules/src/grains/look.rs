//! Small helpers to read from a machine: a file as text, whether a path exists, where a program is.

use std::path::Path;

use crate::machine::{FileKind, Probe};

/// A file as text, with invalid UTF-8 replaced; `None` if it can't be read.
pub fn text(machine: &dyn Probe, path: &str) -> Option<String> {
    let content = machine.read(Path::new(path)).ok()?;
    Some(String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A file that contains one value, like many in `/proc/sys` and `/sys`; `None` if it is empty.
pub fn line(machine: &dyn Probe, path: &str) -> Option<String> {
    let text = text(machine, path)?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

pub fn exists(machine: &dyn Probe, path: &str) -> bool {
    matches!(machine.stat(Path::new(path), true), Ok(Some(_)))
}

pub fn is_directory(machine: &dyn Probe, path: &str) -> bool {
    matches!(machine.stat(Path::new(path), true), Ok(Some(stat)) if stat.kind == FileKind::Directory)
}

/// The names in a directory; none if it does not exist.
pub fn names(machine: &dyn Probe, path: &str) -> Vec<String> {
    machine.list(Path::new(path)).unwrap_or_default()
}

/// The path of a program. Searches the system's directories even if PATH lacks them, since an agent that was started
/// over SSH often has a user's PATH without `/sbin`.
pub fn program(machine: &dyn Probe, name: &str) -> Option<String> {
    let path = machine.env("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    path.split(':').filter(|folder| folder.starts_with('/')).chain(system).find_map(|folder| {
        let candidate = format!("{}/{name}", folder.trim_end_matches('/'));
        let stat = machine.stat(Path::new(&candidate), true).ok()??;
        (stat.kind == FileKind::File && stat.mode & 0o111 != 0).then_some(candidate)
    })
}

/// The value after `key` in lines such as `Key: value`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':')).map(str::trim)
}
