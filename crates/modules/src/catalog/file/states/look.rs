//! Tests paths as Python's `os.path` does, on which Salt's rules depend.

use std::path::Path;

use super::super::path::expand;
use crate::machine::{FileKind, Probe, Stat, accounts};

/// A name as users write it, with `~` expanded.
pub fn name(machine: &dyn Probe, name: &str) -> String {
    expand(machine, name).to_string_lossy().into_owned()
}

pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// The status of a path; follows links.
pub fn found(machine: &dyn Probe, path: &str) -> Option<Stat> {
    machine.stat(Path::new(path), true).ok().flatten()
}

/// The status of the path itself, without following a link.
pub fn itself(machine: &dyn Probe, path: &str) -> Option<Stat> {
    machine.stat(Path::new(path), false).ok().flatten()
}

pub fn is_file(machine: &dyn Probe, path: &str) -> bool {
    found(machine, path).is_some_and(|stat| stat.kind == FileKind::File)
}

pub fn is_directory(machine: &dyn Probe, path: &str) -> bool {
    found(machine, path).is_some_and(|stat| stat.kind == FileKind::Directory)
}

pub fn is_link(machine: &dyn Probe, path: &str) -> bool {
    itself(machine, path).is_some_and(|stat| stat.kind == FileKind::Link)
}

/// As in Python, a dangling link doesn't exist.
pub fn exists(machine: &dyn Probe, path: &str) -> bool {
    found(machine, path).is_some()
}

pub fn exists_itself(machine: &dyn Probe, path: &str) -> bool {
    itself(machine, path).is_some()
}

/// Finds a link in the path that another user placed in a world-writable directory. Following it would let that user
/// choose where to write; the kernel also refuses to open such files (`protected_symlinks`).
pub fn planted(machine: &dyn Probe, path: &str) -> Option<String> {
    let own = accounts::own_uid(machine);
    Path::new(path).ancestors().find_map(|part| {
        let link = machine.stat(part, false).ok().flatten().filter(|stat| stat.kind == FileKind::Link)?;
        let above = machine.stat(part.parent()?, true).ok().flatten()?;
        let open = above.mode & 0o1002 == 0o1002;
        let planted = open && link.uid != own && link.uid != above.uid;
        planted.then(|| {
            let (link, above) = (part.display(), part.parent().unwrap_or(part).display());
            format!(
                "{link} is a link that another user has put into {above}, where everybody may write; it is not followed"
            )
        })
    })
}

/// The part before the last slash; `/` if it is empty.
pub fn above(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(end) => path[..end].trim_end_matches('/'),
        None => "",
    }
}

pub fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

pub fn join(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

/// The permissions that the umask leaves for new files and directories.
pub fn umask(machine: &dyn Probe) -> u32 {
    let status = machine.read(Path::new("/proc/self/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
    mask.and_then(|mask| u32::from_str_radix(mask, 8).ok()).unwrap_or(0o022)
}

/// Expands `$NAME` and `${NAME}` from the agent's environment; unknown ones stay.
pub fn variables(machine: &dyn Probe, text: &str) -> String {
    let mut read = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        read.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
        let (name, left) = braced.unwrap_or_else(|| after.split_at(end));
        match machine.env(name) {
            Some(value) => read.push_str(&value),
            None => read.push_str(&text[text.len() - after.len() - 1..text.len() - left.len()]),
        }
        rest = left;
    }
    read + rest
}
