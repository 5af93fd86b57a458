//! [`StoreFile`]: the directory, the lock and the file of a store, for this user alone (`docs/security-rules.md#r10`).
//!
//! The lock is a separate file. It is held until the store is closed, also while the store's file is created or reopened
//! after a failure. It contains its holder's process id.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};

use crate::store::Error;

/// How long to wait for a process that is just closing the store.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

pub struct StoreFile {
    path: PathBuf,
    directory: PathBuf,
    /// Only held.
    _lock: File,
}

impl StoreFile {
    /// Creates the directory and takes the lock.
    pub fn new(path: PathBuf) -> Result<StoreFile, Error> {
        if path.file_name().is_none() {
            return Err(Error::settings(format!("{} is not the name of a file", path.display())));
        }
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        create_directory(&directory)?;
        let lock = lock(&path)?;
        Ok(StoreFile { path, directory, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file, if it exists.
    pub fn open(&self) -> Result<Option<File>, Error> {
        match open_private(&self.path, OpenOptions::new().read(true).write(true)) {
            Ok(file) => check(&file, &self.path).map(|()| Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cant("open", &self.path, &error)),
        }
    }

    /// Creates the file atomically: under a temporary name, renamed when it is complete.
    pub fn create(&self, fill: impl FnOnce(File) -> Result<(), Error>) -> Result<(), Error> {
        let mut name = self.path.clone().into_os_string();
        name.push(".new");
        let unfinished = PathBuf::from(name);
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cant("remove", &unfinished, &error)),
            _ => {}
        }
        let file = open_private(&unfinished, OpenOptions::new().read(true).write(true).create_new(true));
        let file = file.map_err(|error| cant("create", &unfinished, &error))?;
        let again = file.try_clone().map_err(|error| cant("create", &unfinished, &error))?;
        let sync = |file: &File, path: &Path| file.sync_all().map_err(|error| cant("write", path, &error));
        fill(file).and_then(|()| sync(&again, &unfinished)).inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })?;
        fs::rename(&unfinished, &self.path).map_err(|error| cant("create", &self.path, &error))?;
        let directory = File::open(&self.directory).map_err(|error| cant("open", &self.directory, &error))?;
        sync(&directory, &self.directory)
    }

    /// Free bytes of the file system; `None` where it doesn't say.
    pub fn free_space(&self) -> Option<u64> {
        let space = rustix::fs::statvfs(&self.directory).ok()?;
        (space.f_blocks > 0).then(|| space.f_bavail.saturating_mul(space.f_frsize))
    }
}

/// Creates the directory if needed, and refuses one that others can use.
fn create_directory(directory: &Path) -> Result<(), Error> {
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(directory) {
        return Err(cant("create the directory", directory, &error));
    }
    let metadata = fs::metadata(directory).map_err(|error| cant("inspect", directory, &error))?;
    let (shown, me) = (directory.display(), rustix::process::geteuid().as_raw());
    if !metadata.is_dir() {
        return Err(Error::settings(format!("{shown} is not a directory")));
    }
    if metadata.uid() != me {
        let owner = metadata.uid();
        return Err(Error::settings(format!(
            "the directory {shown} belongs to user {owner}, and this process runs as user {me}; run it as that user, or \
             set another store_path"
        )));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(Error::settings(format!(
            "other users can access the store's directory {shown}; run: chmod 700 {shown}"
        )));
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.to_owned().into_os_string();
    name.push(".lock");
    let path_of_lock = PathBuf::from(name);
    let file = open_private(&path_of_lock, OpenOptions::new().read(true).write(true).create(true).truncate(false));
    let mut file = file.map_err(|error| cant("open", &path_of_lock, &error))?;
    check(&file, &path_of_lock)?;
    let begun = Instant::now();
    while let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(cant("lock", &path_of_lock, &error.into()));
        }
        if begun.elapsed() > LOCK_TIMEOUT {
            return Err(held(path, &mut file));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Only for the error message of others, so a full disk doesn't matter here.
    let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
    let _ = writeln!(file, "{}", std::process::id());
    Ok(file)
}

fn held(path: &Path, lock: &mut File) -> Error {
    let mut text = String::new();
    let _ = lock.take(20).read_to_string(&mut text);
    let holder = match text.trim().parse::<u32>() {
        Ok(number) => match fs::read_to_string(format!("/proc/{number}/comm")) {
            Ok(name) => format!("process {number} ({})", name.trim()),
            Err(_) => format!("process {number}"),
        },
        Err(_) => "another process".to_owned(),
    };
    Error::settings(format!(
        "{} is in use by {holder}, and only one process can use it; stop that one first (systemctl stop rocksalt, if it \
         is the service), or set another store_path, or share an etcd (store: etcd)",
        path.display()
    ))
}

fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Refuses a file that others can read or write, or that has another hard link.
fn check(file: &File, path: &Path) -> Result<(), Error> {
    let metadata = file.metadata().map_err(|error| cant("inspect", path, &error))?;
    let (shown, me) = (path.display(), rustix::process::geteuid().as_raw());
    if !metadata.is_file() || metadata.nlink() != 1 {
        return Err(Error::settings(format!("{shown} is not a regular file with one link")));
    }
    if metadata.uid() != me {
        let owner = metadata.uid();
        return Err(Error::settings(format!("{shown} belongs to user {owner}, and this process runs as user {me}")));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(Error::settings(format!("other users can access {shown}; run: chmod 600 {shown}")));
    }
    Ok(())
}

fn cant(doing: &str, path: &Path, error: &io::Error) -> Error {
    Error::settings(format!("can't {doing} {}: {error}", path.display()))
}
