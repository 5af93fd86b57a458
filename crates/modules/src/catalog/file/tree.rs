//! `file.tree`: a directory with everything below it.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::path::{expand, look, octal};
use super::stat::{group_name, user_name};
use crate::machine::{FileKind, Probe, Stat, System};
use crate::{Error, Result};

/// All that is below a directory, as a tree: names lead to trees, or to what is known of a file.
///
/// ```text
/// rocksalt '*' file.tree /etc/apt maxdepth=2
/// ```
///
/// This one is Rocksalt's own; Salt has `file.find` and `file.readdir`.
#[function("file.tree", reads)]
pub struct Tree {
    /// The directory.
    path: String,
    /// Descend at most this many directories.
    maxdepth: Option<u32>,
    /// Return owner, mode and size of each file.
    details: bool,
}

impl Function for Tree {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let path = expand(machine, &self.path);
        let stat = look(machine, &path, true)?;
        branch(machine, &path, &stat, self.maxdepth.unwrap_or(64).min(64), self.details)
    }
}

fn branch(machine: &dyn Probe, path: &std::path::Path, stat: &Stat, depth: u32, details: bool) -> Result<Value> {
    if machine.cancelled() {
        return Err(Error::cancelled());
    }
    if stat.kind != FileKind::Directory {
        return Ok(leaf(machine, path, stat, details));
    }
    let mut map = Map::new();
    if depth > 0 {
        for name in machine.list(path).map_err(|error| Error::io("list", path, &error))? {
            let below = path.join(&name);
            // Paths that vanished meanwhile are left out.
            let Ok(Some(stat)) = machine.stat(&below, false) else { continue };
            // An unreadable directory is shown as empty.
            map.insert(name, branch(machine, &below, &stat, depth - 1, details).unwrap_or_else(|_| Map::new().into()));
        }
    }
    Ok(map.into())
}

fn leaf(machine: &dyn Probe, path: &std::path::Path, stat: &Stat, details: bool) -> Value {
    let target = (stat.kind == FileKind::Link).then(|| machine.read_link(path).ok()).flatten();
    let target = target.map(|target| target.to_string_lossy().into_owned());
    if !details {
        return match target {
            Some(target) => format!("-> {target}").into(),
            None => stat.size.into(),
        };
    }
    let mut map = Map::new();
    map.insert("user", user_name(machine, stat.uid));
    map.insert("group", group_name(machine, stat.gid));
    map.insert("mode", octal(stat.mode));
    map.insert("size", stat.size);
    if let Some(target) = target {
        map.insert("target", target);
    }
    map.into()
}
