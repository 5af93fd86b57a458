//! Finds the missing directories above a path.

use std::path::Path;

use crate::machine::{FileKind, Probe};

/// The directories that must be created so that `path` is a directory, from the top down.
pub fn missing_directories(machine: &dyn Probe, path: &str) -> Vec<String> {
    let is_there = |path: &Path| matches!(machine.stat(path, true), Ok(Some(stat)) if stat.kind == FileKind::Directory);
    let mut missing: Vec<String> = Path::new(path)
        .ancestors()
        .take_while(|path| !is_there(path))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    missing.reverse();
    missing
}
