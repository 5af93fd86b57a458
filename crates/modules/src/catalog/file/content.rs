//! Reads the content of files as text or checksum, and replaces it.

use std::path::{Path, PathBuf};

use rocksalt_core::Value;

use super::path::followed;
use crate::machine::{Probe, System};
use crate::text::digest::{DigestAlgorithm, DigestHasher};
use crate::{Error, Result};

/// The text of a file that will be edited. Bytes that are not UTF-8 would not survive that.
pub fn text(machine: &dyn Probe, path: &Path) -> Result<String> {
    let content = bytes(machine, path)?;
    String::from_utf8(content).map_err(|_| {
        Error::failed(format!("{} is no UTF-8 text; it was not changed", path.display()))
            .hint("change it with a command that knows what is in it")
    })
}

pub fn bytes(machine: &dyn Probe, path: &Path) -> Result<Vec<u8>> {
    machine.read(path).map_err(|error| Error::io("read", path, &error))
}

/// As text if it is UTF-8, otherwise as bytes.
pub fn text_or_bytes(content: Vec<u8>) -> Value {
    String::from_utf8(content).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::String)
}

/// Replaces the text of a file, with a backup beside it if requested.
pub fn replace(machine: &dyn System, path: &Path, content: &str, backup: Option<&str>) -> Result<()> {
    let path = followed(machine, path);
    if let Some(ending) = backup {
        let copy = PathBuf::from(format!("{}{ending}", path.display()));
        let old = machine.stat(&path, true).map_err(|error| Error::io("look at", &path, &error))?;
        machine
            .write(&copy, &bytes(machine, &path)?, old.as_ref().map(|old| old.mode))
            .map_err(|error| Error::io("write the backup", &copy, &error))?;
        if let Some(old) = old {
            // Only root may change the owner; for other users the copy is already their own.
            let _ = machine.set_owner(&copy, Some(old.uid), Some(old.gid), true);
        }
    }
    machine.write(&path, content.as_bytes(), None).map_err(|error| Error::io("write", &path, &error))
}

/// The suffix of the backup's name: Salt's `.bak`, another one, or `None` for `False`.
pub fn backup_ending(backup: &Value) -> Option<String> {
    match backup {
        Value::String(ending) if !ending.is_empty() && ending != "False" => Some(ending.clone()),
        Value::Bool(true) => Some(".bak".into()),
        _ => None,
    }
}

/// The checksum of a file of any size.
pub fn sum_of(machine: &dyn Probe, path: &Path, kind: DigestAlgorithm) -> Result<String> {
    const PIECE: usize = 1024 * 1024;
    let mut sum = DigestHasher::new(kind);
    let mut offset = 0;
    loop {
        let piece = machine.read_at(path, offset, PIECE).map_err(|error| Error::io("read", path, &error))?;
        sum.add(&piece);
        offset += piece.len() as u64;
        if piece.len() < PIECE {
            return Ok(sum.end());
        }
        if machine.cancelled() {
            return Err(Error::cancelled());
        }
    }
}
