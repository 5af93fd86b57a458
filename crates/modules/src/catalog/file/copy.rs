//! Functions that copy, move, link and remove.

use std::io;
use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::path::{absolute, followed, is_directory, kind, make_all, walk};
use crate::machine::{FileKind, Stat, System};
use crate::{Error, Result};

/// Copies a file, or with `recurse` a directory, on the target, with owner and mode.
///
/// ```text
/// rocksalt '*' file.copy /path/to/src /path/to/dst
/// rocksalt '*' file.copy /path/to/src_dir /path/to/dst_dir recurse=True
/// ```
#[function("file.copy", changes)]
pub struct Copy {
    /// What to copy.
    src: String,
    /// Where to.
    dst: String,
    /// Copy a directory with all that is in it.
    recurse: bool,
    /// Remove what is in the directory's place first, instead of copying into it.
    remove_existing: bool,
}

impl Function for Copy {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (from, to) = (absolute(machine, &self.src)?, absolute(machine, &self.dst)?);
        let Some(found) = machine.stat(&from, true).map_err(|error| Error::io("look at", &from, &error))? else {
            return Err(Error::failed(format!("No such file or directory '{}'", from.display())));
        };
        if found.kind != FileKind::Directory {
            copy_one(machine, &from, &followed(machine, &to), &found)?;
            return Ok(true);
        }
        if !self.recurse {
            return Err(Error::arguments("Cannot copy overwriting a directory without recurse flag set to true!"));
        }
        if to.starts_with(&from) {
            return Err(Error::arguments(format!("can't copy {} into itself", from.display())));
        }
        if self.remove_existing && kind(machine, &to).is_some() {
            machine.remove(&to).map_err(|error| Error::io("remove", &to, &error))?;
        }
        copy_all(machine, &from, &to)?;
        Ok(true)
    }
}

/// Moves a file or directory, to another file system too.
///
/// ```text
/// rocksalt '*' file.move /path/to/src /path/to/dst
/// ```
#[function("file.move", changes)]
pub struct Move {
    /// What to move.
    src: String,
    /// Where to; into it, if it is a directory.
    dst: String,
    /// Fail rather than copy where a plain rename can't do it.
    disallow_copy_and_unlink: bool,
}

impl Function for Move {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let (from, mut to) = (absolute(machine, &self.src)?, absolute(machine, &self.dst)?);
        if is_directory(machine, &to)
            && let Some(name) = from.file_name()
        {
            to.push(name);
        }
        match machine.rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices && !self.disallow_copy_and_unlink => {
                copy_all(machine, &from, &to)?;
                machine.remove(&from).map_err(|error| {
                    Error::io("remove", &from, &error).hint(format!("its copy is at {}", to.display()))
                })?;
            }
            Err(error) => {
                return Err(Error::failed(format!(
                    "Unable to move '{}' to '{}': {}",
                    from.display(),
                    to.display(),
                    crate::error::reason(&error)
                )));
            }
            Ok(()) => {}
        }
        Ok(Map::from_iter([
            ("result".into(), Value::Bool(true)),
            ("comment".into(), format!("'{}' moved to '{}'", self.src, self.dst).into()),
        ]))
    }
}

/// Renames a file or directory within its file system.
///
/// ```text
/// rocksalt '*' file.rename /path/to/src /path/to/dst
/// ```
#[function("file.rename", changes)]
pub struct Rename {
    /// The old path.
    src: String,
    /// The new path.
    dst: String,
}

impl Function for Rename {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (from, to) = (absolute(machine, &self.src)?, absolute(machine, &self.dst)?);
        machine.rename(&from, &to).map_err(|error| {
            let reason = crate::error::reason(&error);
            Error::failed(format!("Could not rename '{}' to '{}': {reason}", from.display(), to.display()))
        })?;
        Ok(true)
    }
}

/// Removes a file, a link, or a directory with all that is in it; `False` if there was nothing.
///
/// ```text
/// rocksalt '*' file.remove /tmp/foo
/// ```
#[function("file.remove", changes)]
pub struct Remove {
    /// The path.
    path: String,
}

impl Function for Remove {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = absolute(machine, &self.path)?;
        if super::path::normal(&path) == Path::new("/") {
            return Err(Error::arguments("the whole machine is not removed").hint("name what is to go"));
        }
        match machine.remove(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("remove", &path, &error)),
        }
    }
}

/// Removes an empty directory; `False` if it isn't empty.
///
/// ```text
/// rocksalt '*' file.rmdir /tmp/foo/
/// rocksalt '*' file.rmdir /tmp/foo recurse=True older_than=30
/// ```
#[function("file.rmdir", changes)]
pub struct Rmdir {
    /// The directory.
    path: String,
    /// Remove the empty directories below it first.
    recurse: bool,
    /// Say what was removed, and what could not be.
    verbose: bool,
    /// Only directories that were changed more than this many days ago.
    older_than: Option<f64>,
}

impl Function for Rmdir {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let top = absolute(machine, &self.path)?;
        if !is_directory(machine, &top) {
            return Err(Error::arguments(format!("A valid directory was not specified: {}", self.path)));
        }
        let newest = self.older_than.map(|days| machine.now() - days * 86_400.0);
        let mut directories: Vec<(PathBuf, Stat)> = Vec::new();
        walk(machine, &top, &mut |path, stat| {
            if stat.kind == FileKind::Directory {
                directories.push((path.to_owned(), stat.clone()));
            }
            Ok(self.recurse)
        })?;
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for (path, stat) in directories.iter().rev() {
            if newest.is_some_and(|newest| stat.mtime > newest) {
                continue;
            }
            let name = Value::from(path.to_string_lossy().into_owned());
            match machine.remove_dir(path) {
                Ok(()) => deleted.push(name),
                Err(error) => errors.push(Value::List(vec![name, crate::error::reason(&error).into()])),
            }
        }
        let result = Value::Bool(errors.is_empty());
        if !self.verbose {
            return Ok(result);
        }
        let mut map = Map::new();
        map.insert("deleted", deleted);
        if !errors.is_empty() {
            map.insert("errors", errors);
        }
        map.insert("result", result);
        Ok(map.into())
    }
}

/// Creates a symbolic link.
///
/// ```text
/// rocksalt '*' file.symlink /path/to/file /path/to/link
/// ```
///
/// A link that is there already and leads to the same place is fine.
#[function("file.symlink", changes)]
pub struct Symlink {
    /// The link's target.
    src: String,
    /// The link.
    path: String,
    /// Replace what is there.
    force: bool,
    /// Replace what is there in one step.
    atomic: bool,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "the link itself is always meant")]
    follow_symlinks: Value,
}

impl Function for Symlink {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let link = super::path::expand(machine, &self.path);
        if !link.is_absolute() {
            return Err(Error::arguments(format!("Link path must be absolute: {}", self.path)));
        }
        let target = Path::new(&self.src);
        let found = machine.stat(&link, false).map_err(|error| Error::io("look at", &link, &error))?;
        let is_link = found.as_ref().is_some_and(|found| found.kind == FileKind::Link);
        if is_link && machine.read_link(&link).is_ok_and(|old| old == target) {
            return Ok(true);
        }
        let fault = |error: io::Error| Error::io("make the link", &link, &error);
        if found.is_none() {
            machine.symlink(target, &link).map_err(fault)?;
            return Ok(true);
        }
        if !self.force && !self.atomic {
            let what = if is_link { "Found existing symlink" } else { "Existing path is not a symlink" };
            return Err(Error::failed(format!("{what}: {}", self.path)).hint("force=True replaces it"));
        }
        if found.is_some_and(|found| found.kind == FileKind::Directory) {
            machine.remove(&link).map_err(|error| Error::io("remove", &link, &error))?;
        }
        // Made under a temporary name and renamed, so that the link always exists.
        let beside = PathBuf::from(format!("{}.{}.new", link.display(), std::process::id()));
        machine.symlink(target, &beside).map_err(fault)?;
        machine.rename(&beside, &link).map_err(|error| {
            let _ = machine.remove(&beside);
            fault(error)
        })?;
        Ok(true)
    }
}

/// Creates a hard link.
///
/// ```text
/// rocksalt '*' file.link /path/to/file /path/to/link
/// ```
#[function("file.link", changes)]
pub struct Link {
    /// The file.
    src: String,
    /// The new name.
    path: String,
}

impl Function for Link {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (from, to) = (absolute(machine, &self.src)?, absolute(machine, &self.path)?);
        machine.hard_link(&from, &to).map_err(|error| {
            Error::failed(format!("Could not create '{}': {}", to.display(), crate::error::reason(&error)))
        })?;
        Ok(true)
    }
}

/// Copies a path with everything below it; links stay links.
pub fn copy_all(machine: &dyn System, from: &Path, to: &Path) -> Result<()> {
    let mut entries = Vec::new();
    walk(machine, from, &mut |path, stat| {
        entries.push((path.to_owned(), stat.clone()));
        Ok(true)
    })?;
    for (path, stat) in &entries {
        let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
        let target = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        match stat.kind {
            FileKind::Directory => {
                if !is_directory(machine, &target) {
                    make_all(machine, &target, Some(0o700))?;
                }
                same_owner(machine, &target, stat)?;
            }
            FileKind::Link => {
                let fault = |error| Error::io("make the link", &target, &error);
                if machine.stat(&target, false).map_err(fault)?.is_some() {
                    machine.remove(&target).map_err(fault)?;
                }
                machine.symlink(&machine.read_link(path).map_err(fault)?, &target).map_err(fault)?;
            }
            FileKind::File => copy_one(machine, path, &target, stat)?,
            _ => {
                return Err(Error::failed(format!("{} is no file and can't be copied", path.display()))
                    .hint("what came before it was copied"));
            }
        }
    }
    Ok(())
}

fn copy_one(machine: &dyn System, from: &Path, to: &Path, stat: &Stat) -> Result<()> {
    let mut offset = 0;
    machine.write_stream(to, Some(stat.mode), &mut || {
        if machine.cancelled() {
            return Err(Error::cancelled());
        }
        let piece = machine.read_at(from, offset, 256 * 1024).map_err(|error| Error::io("read", from, &error))?;
        offset += piece.len() as u64;
        Ok(piece)
    })?;
    same_owner(machine, to, stat)
}

fn same_owner(machine: &dyn System, path: &Path, stat: &Stat) -> Result<()> {
    // Only root may change the owner; other users own their copies.
    let _ = machine.set_owner(path, Some(stat.uid), Some(stat.gid), false);
    machine.set_mode(path, stat.mode).map_err(|error| Error::io("set the mode of", path, &error))
}
