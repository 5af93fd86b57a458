//! Is it there, and what is it?

use serde::Deserialize;

use super::Function;
use super::path::{canonical, expand, is_directory, kind, look};
use crate::machine::{Command, Kind, System};
use crate::text::glob;
use crate::{Error, Result};

/// Whether there is a directory.
///
/// ```text
/// rocksalt '*' file.directory_exists /etc
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DirectoryExists {
    /// The path.
    path: String,
}

impl Function for DirectoryExists {
    const NAME: &'static str = "file.directory_exists";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct FileExists {
    /// The path.
    path: String,
}

impl Function for FileExists {
    const NAME: &'static str = "file.file_exists";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.path)) == Some(Kind::File))
    }
}

/// Whether anything matches a shell pattern.
///
/// ```text
/// rocksalt '*' file.path_exists_glob /etc/pam*/pass*
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct PathExistsGlob {
    /// The path.
    path: String,
}

impl Function for PathExistsGlob {
    const NAME: &'static str = "file.path_exists_glob";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct IsBlkdev {
    /// The path.
    name: String,
}

impl Function for IsBlkdev {
    const NAME: &'static str = "file.is_blkdev";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(Kind::BlockDevice))
    }
}

/// Whether it is a character device.
///
/// ```text
/// rocksalt '*' file.is_chrdev /dev/tty0
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct IsChrdev {
    /// The path.
    name: String,
}

impl Function for IsChrdev {
    const NAME: &'static str = "file.is_chrdev";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(Kind::CharDevice))
    }
}

/// Whether it is a named pipe.
///
/// ```text
/// rocksalt '*' file.is_fifo /run/initctl
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct IsFifo {
    /// The path.
    name: String,
}

impl Function for IsFifo {
    const NAME: &'static str = "file.is_fifo";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kind(machine, &expand(machine, &self.name)) == Some(Kind::Pipe))
    }
}

/// Whether a file has more than one name.
///
/// ```text
/// rocksalt '*' file.is_hardlink /path/to/file
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct IsHardlink {
    /// The path.
    path: String,
}

impl Function for IsHardlink {
    const NAME: &'static str = "file.is_hardlink";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let found = machine.stat(&expand(machine, &self.path), false).ok().flatten();
        Ok(found.is_some_and(|stat| stat.kind == Kind::File && stat.links > 1))
    }
}

/// Whether it is a symbolic link.
///
/// ```text
/// rocksalt '*' file.is_link /path/to/link
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct IsLink {
    /// The path.
    path: String,
    /// Taken and ignored.
    #[serde(default)]
    #[allow(dead_code, reason = "only Salt's own code gives it")]
    nostat: bool,
}

impl Function for IsLink {
    const NAME: &'static str = "file.is_link";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let found = machine.stat(&expand(machine, &self.path), false).ok().flatten();
        Ok(found.is_some_and(|stat| stat.kind == Kind::Link))
    }
}

/// Whether the agent's user may do something with a path: `f` is there, `r`, `w`, `x`.
///
/// ```text
/// rocksalt '*' file.access /path/to/file r
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Access {
    /// The path.
    path: String,
    /// One of `f`, `r`, `w` and `x`.
    mode: String,
}

impl Function for Access {
    const NAME: &'static str = "file.access";
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
        // The system's own answer counts: bits alone know nothing of read-only mounts and ACLs.
        Ok(there && machine.query(&Command::new(["test", test, &*path.to_string_lossy()]))?.success())
    }
}

/// The names in a directory, `.` and `..` among them.
///
/// ```text
/// rocksalt '*' file.readdir /path/to/dir/
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Readdir {
    /// The directory.
    path: String,
}

impl Function for Readdir {
    const NAME: &'static str = "file.readdir";
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

/// Where a symbolic link leads.
///
/// ```text
/// rocksalt '*' file.readlink /path/to/link
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Readlink {
    /// The link.
    path: String,
    /// Follow it, and all other links on the way, to an absolute path.
    #[serde(default)]
    canonicalize: bool,
}

impl Function for Readlink {
    const NAME: &'static str = "file.readlink";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = super::path::absolute(machine, &self.path)?;
        if look(machine, &path, false)?.kind != Kind::Link {
            return Err(Error::arguments(format!("A valid link was not specified: {}", self.path)));
        }
        if self.canonicalize {
            return Ok(canonical(machine, &path).to_string_lossy().into_owned());
        }
        let target = machine.read_link(&path).map_err(|error| Error::io("read the link", &path, &error))?;
        Ok(target.to_string_lossy().into_owned())
    }
}
