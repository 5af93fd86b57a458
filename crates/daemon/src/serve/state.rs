//! The daemon's own directory: made and checked (rule R10), and taken for one daemon alone.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::Error;

/// Makes the directory if it isn't there, and refuses it unless it is ours alone.
pub fn directory(path: &Path) -> Result<(), Error> {
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
        return not("it is something else");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return not("it is somebody else's");
    }
    if metadata.mode() & 0o077 != 0 {
        return not("others may look into it");
    }
    Ok(())
}

/// Says that a daemon works in this directory, as long as it is held.
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn take(directory: &Path) -> Result<Lock, Error> {
        let path = directory.join("daemon.pid");
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        // Not through a link that somebody else put there.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        let mut file = options.open(&path).map_err(|error| Error::Write { path: path.clone(), error })?;
        let begun = Instant::now();
        // One that was killed a moment ago may still be on its way out.
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
        Ok(Lock { _file: file })
    }
}

/// A daemon that was killed leaves its socket behind; whoever holds the lock may take it away.
pub fn remove_socket(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Writes a new file that only we can read; never over one that is there.
pub fn write_new(path: &Path, text: &[u8]) -> Result<(), Error> {
    let fault = |error| Error::Write { path: path.to_owned(), error };
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(path).map_err(fault)?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(fault)
}

/// Puts a file in the place of another, whole or not at all.
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
        directory(&path).expect("it is made");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("it is ours");
        assert!(matches!(directory(&path), Err(Error::NotOurs { .. })));
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(scratch.path().join("a"), &link).expect("it is ours");
        assert!(matches!(directory(&link), Err(Error::NotOurs { .. })), "a link leads anywhere");
    }

    #[test]
    fn only_one_daemon_has_it() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let lock = Lock::take(scratch.path()).expect("it is free");
        let second = Lock::take(scratch.path()).err().expect("it is taken").to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        drop(lock);
        Lock::take(scratch.path()).expect("it is free again");
    }
}
