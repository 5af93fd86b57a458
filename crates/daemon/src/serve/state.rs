//! The state directory: created, checked (`docs/security-rules.md#r10`), and locked for one daemon.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::Error;

/// Creates the directory if needed, and refuses one that others can use.
pub fn create_directory(path: &Path) -> Result<(), Error> {
    let fault = |error| Error::Make { path: path.to_owned(), error };
    if let Some(above) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(fault)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fault(error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path).map_err(|error| Error::Read { path: path.to_owned(), error })?;
    let not = |why| Err(Error::NotOurs { path: path.to_owned(), why });
    if !metadata.is_dir() {
        return not("it is not a directory");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return not("it belongs to another user");
    }
    if metadata.mode() & 0o077 != 0 {
        return not("other users can access it");
    }
    Ok(())
}

/// Locks the directory for one daemon while it is held.
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub fn acquire(directory: &Path) -> Result<DirectoryLock, Error> {
        let path = directory.join("daemon.pid");
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        // Don't follow a symlink that somebody else put there.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        let mut file = options.open(&path).map_err(|error| Error::Write { path: path.clone(), error })?;
        let begun = Instant::now();
        // A daemon that was just killed may not have exited yet.
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            return Err(Error::Second { path: directory.to_owned(), pid: pid.trim().parse().ok() });
        }
        let fault = |error| Error::Write { path: path.clone(), error };
        file.set_len(0).map_err(fault)?;
        file.rewind().map_err(fault)?;
        writeln!(file, "{}", std::process::id()).map_err(fault)?;
        Ok(DirectoryLock { _file: file })
    }
}

/// Removes the socket of a killed daemon; only for the holder of the lock.
pub fn remove_socket(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Creates a private file; never overwrites one.
pub fn write_new(path: &Path, text: &[u8]) -> Result<(), Error> {
    let fault = |error| Error::Write { path: path.to_owned(), error };
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(path).map_err(fault)?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(fault)
}

/// Replaces a file atomically.
pub fn replace(path: &Path, text: &[u8]) -> Result<(), Error> {
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    write_new(&beside, text)?;
    fs::rename(&beside, path).map_err(|error| Error::Write { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_others_can_read_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let path = scratch.path().join("a/state");
        create_directory(&path).expect("it is made");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("it is ours");
        assert!(matches!(create_directory(&path), Err(Error::NotOurs { .. })));
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(scratch.path().join("a"), &link).expect("it is ours");
        assert!(matches!(create_directory(&link), Err(Error::NotOurs { .. })), "a link leads anywhere");
    }

    #[test]
    fn only_one_daemon_holds_the_lock() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let lock = DirectoryLock::acquire(scratch.path()).expect("it is free");
        let second = DirectoryLock::acquire(scratch.path()).err().expect("it is taken").to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        drop(lock);
        DirectoryLock::acquire(scratch.path()).expect("it is free again");
    }
}
