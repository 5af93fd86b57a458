//! Functions that test whether a path exists, and its type.

use rocksalt_macros::function;

use super::Function;
use super::path::{canonical, expand, is_directory, kind, look};
use crate::machine::{Command, FileKind, System};
use crate::text::glob;
use crate::{Error, Result};

/// Whether there is a directory.
///
/// ```text
/// rocksalt '*' file.directory_exists /etc
/// ```
#[function("file.directory_exists", reads)]
pub struct DirectoryExists {
    /// The path.
    path: String,
}

impl Function for DirectoryExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(is_directory(machine, &expand(machine, &self.path)))
    }
}

/// Whether there is a file.
///
/// ```text
/// rocksalt '*' file.file_exists /etc/passwd
/// ```
#[function("file.file_exists", reads)]
pub struct FileExists {
    /// The path.
    path: String,
}

impl Function for FileExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.path)) == Some(FileKind::File))
    }
}

/// Whether anything matches a shell pattern.
///
/// ```text
/// rocksalt '*' file.path_exists_glob /etc/pam*/pass*
/// ```
#[function("file.path_exists_glob", reads)]
pub struct PathExistsGlob {
    /// The path.
    path: String,
}

impl Function for PathExistsGlob {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = expand(machine, &self.path);
        Ok(!glob::paths(machine, &path.to_string_lossy()).is_empty())
    }
}

/// Whether it is a block device.
///
/// ```text
/// rocksalt '*' file.is_blkdev /dev/sda
/// ```
#[function("file.is_blkdev", reads)]
pub struct IsBlkdev {
    /// The path.
    name: String,
}

impl Function for IsBlkdev {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(FileKind::BlockDevice))
    }
}

/// Whether it is a character device.
///
/// ```text
/// rocksalt '*' file.is_chrdev /dev/tty0
/// ```
#[function("file.is_chrdev", reads)]
pub struct IsChrdev {
    /// The path.
    name: String,
}

impl Function for IsChrdev {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(FileKind::CharDevice))
    }
}

/// Whether it is a named pipe.
///
/// ```text
/// rocksalt '*' file.is_fifo /run/initctl
/// ```
#[function("file.is_fifo", reads)]
pub struct IsFifo {
    /// The path.
    name: String,
}

impl Function for IsFifo {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(FileKind::Pipe))
    }
}

/// Whether a file has more than one hard link.
///
/// ```text
/// rocksalt '*' file.is_hardlink /path/to/file
/// ```
#[function("file.is_hardlink", reads)]
pub struct IsHardlink {
    /// The path.
    path: String,
}

impl Function for IsHardlink {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let found = machine.stat(&expand(machine, &self.path), false).ok().flatten();
        Ok(found.is_some_and(|stat| stat.kind == FileKind::File && stat.links > 1))
    }
}

/// Whether it is a symbolic link.
///
/// ```text
/// rocksalt '*' file.is_link /path/to/link
/// ```
#[function("file.is_link", reads)]
pub struct IsLink {
    /// The path.
    path: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "only Salt's own code gives it")]
    nostat: bool,
}

impl Function for IsLink {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let found = machine.stat(&expand(machine, &self.path), false).ok().flatten();
        Ok(found.is_some_and(|stat| stat.kind == FileKind::Link))
    }
}

/// Whether the agent's user may do something with a path: `f` is there, `r`, `w`, `x`.
///
/// ```text
/// rocksalt '*' file.access /path/to/file r
/// ```
#[function("file.access", reads)]
pub struct Access {
    /// The path.
    path: String,
    /// One of `f`, `r`, `w` and `x`.
    mode: String,
}

impl Function for Access {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = expand(machine, &self.path);
        let there = matches!(machine.stat(&path, true), Ok(Some(_)));
        let test = match self.mode.as_str() {
            "f" => return Ok(there),
            "r" => "-r",
            "w" => "-w",
            "x" => "-x",
            _ => return Err(Error::arguments("Invalid mode specified.").hint("it is one of f, r, w and x")),
        };
        // The system decides: the mode alone doesn't reflect read-only mounts and ACLs.
        Ok(there && machine.query(&Command::new(["test", test, &*path.to_string_lossy()]))?.success())
    }
}

/// The names in a directory, including `.` and `..`.
///
/// ```text
/// rocksalt '*' file.readdir /path/to/dir/
/// ```
#[function("file.readdir", reads)]
pub struct Readdir {
    /// The directory.
    path: String,
}

impl Function for Readdir {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let path = expand(machine, &self.path);
        if !is_directory(machine, &path) {
            return Err(Error::arguments(format!("A valid directory was not specified: {}", self.path)));
        }
        let names = machine.list(&path).map_err(|error| Error::io("list", &path, &error))?;
        Ok([".".to_owned(), "..".to_owned()].into_iter().chain(names).collect())
    }
}

/// The target of a symbolic link.
///
/// ```text
/// rocksalt '*' file.readlink /path/to/link
/// ```
#[function("file.readlink", reads)]
pub struct Readlink {
    /// The link.
    path: String,
    /// Follow it, and all other links on the way, to an absolute path.
    canonicalize: bool,
}

impl Function for Readlink {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = super::path::absolute(machine, &self.path)?;
        if look(machine, &path, false)?.kind != FileKind::Link {
            return Err(Error::arguments(format!("A valid link was not specified: {}", self.path)));
        }
        if self.canonicalize {
            return Ok(canonical(machine, &path).to_string_lossy().into_owned());
        }
        let target = machine.read_link(&path).map_err(|error| Error::io("read the link", &path, &error))?;
        Ok(target.to_string_lossy().into_owned())
    }
}
