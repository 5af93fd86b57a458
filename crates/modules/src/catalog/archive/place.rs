//! [`Archive`]: where an archive's bytes are.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::{FileKind, Probe};
use crate::{Error, Result};

/// An archive that can be read.
#[derive(Serialize, Deserialize)]
pub enum Archive {
    /// A file of this machine.
    File(PathBuf),
    /// The content that a dry run fetched, since it must not write. It is not part of a plan: the run fetches it again.
    #[serde(skip)]
    Bytes(Arc<[u8]>),
}

impl Archive {
    pub fn length(&self, machine: &dyn Probe) -> Result<u64> {
        match self {
            Archive::Bytes(bytes) => Ok(bytes.len() as u64),
            Archive::File(path) => match machine.stat(path, true) {
                Ok(Some(stat)) if stat.kind == FileKind::File => Ok(stat.size),
                Ok(_) => Err(Error::failed(format!("there is no file {}", path.display()))),
                Err(error) => Err(Error::io("look at", path, &error)),
            },
        }
    }

    /// Reads bytes; fewer only at the end.
    pub fn read(&self, machine: &dyn Probe, offset: u64, length: usize) -> Result<Vec<u8>> {
        match self {
            Archive::Bytes(bytes) => {
                let start = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
                Ok(bytes[start..bytes.len().min(start.saturating_add(length))].to_vec())
            }
            Archive::File(path) => {
                machine.read_at(path, offset, length).map_err(|error| Error::io("read", path, &error))
            }
        }
    }
}
