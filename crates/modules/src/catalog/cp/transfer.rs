//! Copies files between the user's machine and the target, for `rocksalt cp`.

use std::path::{Path, PathBuf};

use rocksalt_core::Value;
use rocksalt_macros::function;
use serde::Deserialize;

use super::source::{self, ContentSource};
use super::{Function, push};
use crate::catalog::file;
use crate::machine::{FileKind, Probe, System};
use crate::{Error, Result};

/// Receives files from the caller; `rocksalt cp FILE… TARGET:PATH` calls it.
///
/// ```text
/// rocksalt '*' cp.receive '[{source: "cp://0", name: motd, size: 3, mode: 420}]' /etc/motd
/// ```
#[function("cp.receive", changes, small)]
pub struct Receive {
    /// What is given: a source, a name, a size and a mode each.
    #[required]
    files: Vec<OfferedFile>,
    /// Where they go: a directory, or the file's own path if it is one file. `{id}` is the target's id.
    destination: String,
}

/// A file of the caller.
#[derive(Deserialize)]
pub struct OfferedFile {
    /// The caller's identifier of the file.
    source: String,
    /// Its name without directories.
    name: String,
    /// The size in bytes.
    size: u64,
    /// The permission bits.
    mode: u32,
}

#[cfg(feature = "docs")]
impl crate::catalog::description::Described for OfferedFile {
    const SHAPE: rocksalt_core::description::Shape = rocksalt_core::description::Shape::Map;

    fn shown(&self) -> Value {
        Value::Null
    }
}

impl Function for Receive {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let id = machine.options().get("id").map(Value::to_string).unwrap_or_default();
        let destination = file::absolute(machine, &self.destination.replace("{id}", &id))?;
        let into = self.destination.ends_with('/') || self.files.len() > 1 || is_directory(machine, &destination);
        if into && !is_directory(machine, &destination) {
            return Err(Error::failed(format!("{} is not a directory on the target", destination.display()))
                .hint("make it first: rocksalt TARGET file.makedirs PATH/"));
        }
        let mut stored = Vec::new();
        for given in self.files {
            // Only one part of a path, whatever the caller sends.
            let name = Path::new(&given.name).file_name().unwrap_or_default();
            let path: PathBuf = if into { destination.join(name) } else { destination.clone() };
            source::download(machine, &ContentSource::Given(given.source), &path, Some(given.mode & 0o7777))?;
            let size = machine.stat(&path, true).ok().flatten().map(|stat| stat.size);
            if size != Some(given.size) {
                return Err(Error::failed(format!("{} changed while it was copied", given.name)).hint("copy it again"));
            }
            stored.push(path.display().to_string());
        }
        Ok(stored)
    }
}

/// Sends files to the caller; `rocksalt cp TARGET:PATH… DIRECTORY` calls it.
///
/// ```text
/// rocksalt '*' cp.send /var/log/syslog
/// ```
#[function("cp.send", changes, small)]
pub struct Send {
    /// The files' paths on the target.
    #[required]
    paths: Vec<String>,
}

impl Function for Send {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut sent = Vec::new();
        for path in self.paths {
            let path = file::absolute(machine, &path)?;
            push::send(machine, &path, &path.to_string_lossy())?;
            sent.push(path.display().to_string());
        }
        Ok(sent)
    }
}

fn is_directory(machine: &dyn Probe, path: &Path) -> bool {
    machine.stat(path, true).ok().flatten().is_some_and(|stat| stat.kind == FileKind::Directory)
}
