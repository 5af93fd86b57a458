//! Paths as users write them, and walking over what they lead to.

use std::path::{Component, Path, PathBuf};

use crate::machine::{FileKind, Probe, Stat, System, accounts};
use crate::{Error, Result};

/// Reads `~` and `~user`.
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

/// A path that something is to be changed at: it must not hang on where the agent happens to be.
pub fn absolute(machine: &dyn Probe, path: &str) -> Result<PathBuf> {
    let expanded = expand(machine, path);
    if expanded.is_absolute() {
        return Ok(expanded);
    }
    Err(Error::arguments(format!("File path must be absolute: {path}")))
}

/// Where a path leads if it is a link, so that writing goes there and the link stays.
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

/// Without links anywhere in it, nor `.` and `..`.
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

/// Without `.`, `..` and doubled slashes, by the text alone.
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

/// What is there; an error in Salt's words if nothing is.
pub fn look(machine: &dyn Probe, path: &Path, follow: bool) -> Result<Stat> {
    machine
        .stat(path, follow)
        .map_err(|error| Error::io("look at", path, &error))?
        .ok_or_else(|| Error::failed(format!("Path not found: {}", path.display())))
}

/// Of which kind it is, links followed.
pub fn kind(machine: &dyn Probe, path: &Path) -> Option<FileKind> {
    machine.stat(path, true).ok().flatten().map(|stat| stat.kind)
}

pub fn is_directory(machine: &dyn Probe, path: &Path) -> bool {
    kind(machine, path) == Some(FileKind::Directory)
}

/// Visits a path and all below it, parents first. Links are not followed; a directory is entered if
/// the visitor says so.
pub fn walk(machine: &dyn Probe, path: &Path, visit: &mut dyn FnMut(&Path, &Stat) -> Result<bool>) -> Result<()> {
    if machine.cancelled() {
        return Err(Error::cancelled());
    }
    // What vanished meanwhile or may not be looked at is left out.
    let Ok(Some(stat)) = machine.stat(path, false) else { return Ok(()) };
    if visit(path, &stat)? && stat.kind == FileKind::Directory {
        for name in machine.list(path).unwrap_or_default() {
            walk(machine, &path.join(name), visit)?;
        }
    }
    Ok(())
}

/// Makes a directory and those above it.
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

/// Four octal digits, as Salt shows modes.
pub fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// A mode as users write it: `644`, `0644`, `'0o644'`.
pub fn parse_mode(text: &str) -> Result<u32> {
    let digits = text.trim().trim_start_matches("0o");
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| Error::arguments(format!("Invalid Mode {text}")).hint("give it in octal, as in 0644"))
}

/// The permission bits with those of the kind, as the system gives them.
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
