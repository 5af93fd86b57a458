//! Small looks at a machine: a file as text, whether a path is there, where a program is.

use std::path::Path;

use crate::machine::{FileKind, Probe};

/// A file as text, whatever its bytes; `None` if it can't be read.
pub fn text(machine: &dyn Probe, path: &str) -> Option<String> {
    let content = machine.read(Path::new(path)).ok()?;
    Some(String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A file with one value in it, as `/proc/sys` and `/sys` have many; `None` if it is empty.
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

/// The names in a directory; none if there is no such directory.
pub fn names(machine: &dyn Probe, path: &str) -> Vec<String> {
    machine.list(Path::new(path)).unwrap_or_default()
}

/// Where a program is. The system's own directories count even if PATH lacks them, since an agent
/// that came by SSH often has a user's PATH without `/sbin`.
pub fn program(machine: &dyn Probe, name: &str) -> Option<String> {
    let path = machine.env("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    path.split(':').filter(|folder| folder.starts_with('/')).chain(system).find_map(|folder| {
        let candidate = format!("{}/{name}", folder.trim_end_matches('/'));
        let stat = machine.stat(Path::new(&candidate), true).ok()??;
        (stat.kind == FileKind::File && stat.mode & 0o111 != 0).then_some(candidate)
    })
}

/// The value behind `key` in lines such as `Key: value`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':')).map(str::trim)
}
