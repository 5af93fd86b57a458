//! Functions that send files from the target to the controller.

use std::path::Path;

use rocksalt_core::frame::Ask;
use rocksalt_macros::function;

use super::Function;
use crate::catalog::file;
use crate::machine::{FileKind, System};
use crate::text::glob;
use crate::{Error, Result};

/// Sends a file to the controller, which keeps it among this target's files.
///
/// ```text
/// rocksalt '*' cp.push /etc/fstab
/// rocksalt '*' cp.push /var/log/big.log upload_path=logs/big.log remove_source=True
/// ```
#[function("cp.push", changes)]
pub struct Push {
    /// The file's path on the target.
    path: String,
    /// Accepted and ignored: links are followed, and the name stays.
    #[allow(dead_code, reason = "the controller keeps content only")]
    keep_symlinks: bool,
    /// Keep it under this path instead of its own.
    upload_path: Option<String>,
    /// Remove the file from the target once the controller has it.
    remove_source: bool,
}

impl Function for Push {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = file::absolute(machine, &self.path)?;
        send(machine, &path, self.upload_path.as_deref().unwrap_or(&self.path))?;
        if self.remove_source {
            machine.remove(&path).map_err(|error| {
                Error::io("remove", &path, &error).hint("the controller has the file; only removing it failed")
            })?;
        }
        Ok(true)
    }
}

/// Sends all files under a directory to the controller.
///
/// ```text
/// rocksalt '*' cp.push_dir /etc/modprobe.d/ glob='*.conf'
/// ```
#[function("cp.push_dir", changes)]
pub struct PushDir {
    /// The directory's path on the target.
    path: String,
    /// Only files whose name matches this shell pattern.
    glob: Option<String>,
    /// Keep them under this path instead of the directory's own.
    upload_path: Option<String>,
}

impl Function for PushDir {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let top = file::absolute(machine, &self.path)?;
        let Some(found) = machine.stat(&top, true).map_err(|error| Error::io("look at", &top, &error))? else {
            return Err(Error::failed(format!("there is no {}", top.display())));
        };
        let under = self.upload_path.clone().unwrap_or_else(|| self.path.clone());
        if found.kind != FileKind::Directory {
            send(machine, &top, &under)?;
            return Ok(true);
        }
        let mut files = Vec::new();
        file::walk(machine, &top, &mut |path, stat| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let wanted = self.glob.as_deref().is_none_or(|pattern| glob::matches(pattern, &name));
            if stat.kind == FileKind::File && wanted {
                files.push(path.to_owned());
            }
            Ok(true)
        })?;
        for path in files {
            let rest = path.strip_prefix(&top).unwrap_or(&path);
            send(machine, &path, &Path::new(&under).join(rest).to_string_lossy())?;
        }
        Ok(true)
    }
}

pub(super) fn send(machine: &dyn System, path: &Path, name: &str) -> Result<()> {
    let fault = |error| Error::io("read", path, &error);
    let Some(stat) = machine.stat(path, true).map_err(fault)?.filter(|stat| stat.kind == FileKind::File) else {
        return Err(Error::failed(format!("{} is no file that could be sent", path.display())));
    };
    let name = super::source::tree_path(name)?;
    let mut offset = 0;
    machine.controller().send(Ask::Push { path: name, size: stat.size }, &mut || {
        // A growing file is sent up to its length at the start.
        let length = (stat.size - offset).min(256 * 1024) as usize;
        let piece = machine.read_at(path, offset, length).map_err(fault)?;
        offset += piece.len() as u64;
        if piece.is_empty() && offset < stat.size {
            return Err(Error::failed(format!("{} became shorter while it was sent", path.display())));
        }
        Ok(piece)
    })?;
    Ok(())
}
