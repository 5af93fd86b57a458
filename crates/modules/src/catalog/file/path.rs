//! Paths as users write them, and walking a directory.

use std::path::{Component, Path, PathBuf};

use crate::machine::{FileKind, Probe, Stat, System, accounts};
use crate::{Error, Result};

/// Expands `~` and `~user`.
pub fn expand(machine: &dyn Probe, path: &str) -> PathBuf {
    let Some(rest) = path.strip_prefix('~') else { return PathBuf::from(path) };
    let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
    let home = match user {
        "" => machine.env("HOME"),
        name => accounts::user(machine, name).map(|user| user.home),
    };
    match home {
        Some(home) if below.is_empty() => PathBuf::from(home),
        Some(home) => Path::new(&home).join(below),
        None => PathBuf::from(path),
    }
}

/// Checks a path for a change: it must not depend on the agent's working directory.
pub fn absolute(machine: &dyn Probe, path: &str) -> Result<PathBuf> {
    let expanded = expand(machine, path);
    if expanded.is_absolute() {
        return Ok(expanded);
    }
    Err(Error::arguments(format!("File path must be absolute: {path}")))
}

/// The target of a path that is a link, so that writing keeps the link.
pub fn followed(machine: &dyn Probe, path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match machine.stat(&path, false) {
            Ok(Some(stat)) if stat.kind == FileKind::Link => match machine.read_link(&path) {
                Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
                Err(_) => break,
            },
            _ => break,
        }
    }
    path
}

/// The path without links, `.` and `..`.
pub fn canonical(machine: &dyn Probe, path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => {
                whole.push(other);
                let target = followed(machine, &whole);
                if target != whole {
                    whole = canonical(machine, &normal(&target));
                }
            }
        }
    }
    whole
}

/// The path without `.`, `..` and doubled slashes, by its text alone.
pub fn normal(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match whole.components().next_back() {
                Some(Component::Normal(_)) => {
                    whole.pop();
                }
                Some(Component::RootDir) => {}
                _ => whole.push(".."),
            },
            other => whole.push(other),
        }
    }
    if whole.as_os_str().is_empty() { PathBuf::from(".") } else { whole }
}

/// The status of a path; Salt's error if it doesn't exist.
pub fn look(machine: &dyn Probe, path: &Path, follow: bool) -> Result<Stat> {
    machine
        .stat(path, follow)
        .map_err(|error| Error::io("look at", path, &error))?
        .ok_or_else(|| Error::failed(format!("Path not found: {}", path.display())))
}

/// The type of a path; follows links.
pub fn kind(machine: &dyn Probe, path: &Path) -> Option<FileKind> {
    machine.stat(path, true).ok().flatten().map(|stat| stat.kind)
}

pub fn is_directory(machine: &dyn Probe, path: &Path) -> bool {
    kind(machine, path) == Some(FileKind::Directory)
}

/// Visits a path and everything below it, parents first. Does not follow links; the visitor decides whether to enter a
/// directory.
pub fn walk(machine: &dyn Probe, path: &Path, visit: &mut dyn FnMut(&Path, &Stat) -> Result<bool>) -> Result<()> {
    if machine.cancelled() {
        return Err(Error::cancelled());
    }
    // Paths that vanished meanwhile or can't be read are skipped.
    let Ok(Some(stat)) = machine.stat(path, false) else { return Ok(()) };
    if visit(path, &stat)? && stat.kind == FileKind::Directory {
        for name in machine.list(path).unwrap_or_default() {
            walk(machine, &path.join(name), visit)?;
        }
    }
    Ok(())
}

/// Makes a directory and its parents.
pub fn make_all(machine: &dyn System, path: &Path, mode: Option<u32>) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<&Path> = path.ancestors().take_while(|path| kind(machine, path).is_none()).collect();
    missing.reverse();
    for path in &missing {
        machine.make_dir(path, mode.unwrap_or(0o755)).map_err(|error| Error::io("make the directory", path, &error))?;
    }
    if !is_directory(machine, path) {
        return Err(Error::failed(format!("{} is there and no directory", path.display())));
    }
    Ok(missing.into_iter().map(Path::to_owned).collect())
}

/// Formats a mode as four octal digits, as Salt does.
pub fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// Parses a mode as users write it: `644`, `0644`, `'0o644'`.
pub fn parse_mode(text: &str) -> Result<u32> {
    let digits = text.trim().trim_start_matches("0o");
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| Error::arguments(format!("Invalid Mode {text}")).hint("give it in octal, as in 0644"))
}

/// The permission bits with the type bits, as in `st_mode`.
pub fn full_mode(stat: &Stat) -> u32 {
    let kind = match stat.kind {
        FileKind::File => 0o100_000,
        FileKind::Directory => 0o040_000,
        FileKind::Link => 0o120_000,
        FileKind::BlockDevice => 0o060_000,
        FileKind::CharDevice => 0o020_000,
        FileKind::Pipe => 0o010_000,
        FileKind::Socket => 0o140_000,
    };
    kind | stat.mode
}
