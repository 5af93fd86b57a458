//! The keeper: a process that keeps links open between commands, behind a private unix socket of its user.
//!
//! The first command starts it; it ends by itself after it was unused for a while.

mod client;
mod log;
mod server;
mod wire;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rocksalt_core::link::{LinkFailure, Stage};

pub use client::KeeperLinks;
pub use server::{Settings, serve};

/// The directory of the socket: created if it doesn't exist, and refused unless only this user can use it
/// (docs/security-rules.md#r10).
pub fn directory(runtime: &Path, uid: u32) -> Result<PathBuf, LinkFailure> {
    let directory = runtime.join("rocksalt");
    let failure =
        |text: String| LinkFailure::new(Stage::Settings, text).hint("set XDG_RUNTIME_DIR to a directory of your own");
    match fs::DirBuilder::new().mode(0o700).create(&directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failure(format!("can't make {}: {error}", directory.display()))),
    }
    let metadata = fs::symlink_metadata(&directory)
        .map_err(|error| failure(format!("can't look at {}: {error}", directory.display())))?;
    if !metadata.is_dir() || metadata.uid() != uid || metadata.mode() & 0o077 != 0 {
        return Err(failure(format!("{} is not a directory that only you can use", directory.display())));
    }
    Ok(directory)
}

/// The socket in that directory.
pub fn socket(directory: &Path) -> PathBuf {
    directory.join("keeper.sock")
}
