//! Files that outlive their process, in directories that no other user can write to.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The directory that the agent was installed to; unset if it is part of another program.
static HOME: OnceLock<PathBuf> = OnceLock::new();

/// Has the prefix of all names in an agent's directory, so that `--wipe` removes it too.
#[cfg(feature = "whole")]
pub const PREFIX: &str = "rocksalt-agent-";

/// A journal is small; a larger file isn't one.
const MOST: u64 = 256 << 20;

pub fn set_home(home: Option<&Path>) {
    if let Some(home) = home {
        let _ = HOME.set(home.to_owned());
    }
}

/// The agent's own directory, if it has one that is private.
#[cfg(feature = "whole")]
pub fn home() -> Option<&'static Path> {
    HOME.get().map(PathBuf::as_path).filter(|home| is_private(home))
}

/// Directories in which a file survives a reboot, best first.
pub fn durable_directories() -> Vec<PathBuf> {
    let user =
        std::env::var_os("HOME").filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".rocksalt"));
    let shared = format!("/var/tmp/.rocksalt-{}", rustix::process::geteuid().as_raw());
    [HOME.get().cloned(), user, Some(shared.into())].into_iter().flatten().collect()
}

/// Creates the directory if needed. Returns whether it is private and survives a reboot.
#[cfg(feature = "whole")]
pub fn prepare(directory: &Path) -> bool {
    make_private(directory) && is_on_disk(directory)
}

/// Creates the directory if needed. Returns whether it is private.
pub fn make_private(directory: &Path) -> bool {
    if !directory.exists() {
        let _ = fs::DirBuilder::new().mode(0o700).create(directory);
    }
    is_private(directory)
}

/// Whether this is a real directory that belongs to our user and that nobody else can write to.
pub fn is_private(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|is| is.is_dir() && is.uid() == own_uid() && is.mode() & 0o022 == 0)
}

/// Whether this is on a disk, not on a file system in memory, which a reboot empties.
#[cfg(any(feature = "whole", test))]
fn is_on_disk(directory: &Path) -> bool {
    const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(directory).is_ok_and(|is| !MEMORY.contains(&(is.f_type as u64 & 0xffff_ffff)))
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Writes a file that only its owner can read, and returns when it is on the disk.
#[cfg(feature = "whole")]
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let temporary = path.with_extension("new");
    let _ = fs::remove_file(&temporary);
    let mut file = create(&temporary)?;
    io::Write::write_all(&mut file, content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })?;
    File::open(directory)?.sync_all()
}

/// Creates a file that only its owner can read.
pub fn create(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Reads a file that only its owner has access to, as [`write`] creates it.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let refuse = |why: &str| format!("{}: {why}", path.display());
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path);
    let file = opened.map_err(|error| refuse(&rocksalt_modules::reason(&error)))?;
    let is = file.metadata().map_err(|error| refuse(&rocksalt_modules::reason(&error)))?;
    if !is.is_file() || is.nlink() != 1 {
        return Err(refuse("it is not a regular file with one name"));
    }
    if is.uid() != own_uid() {
        return Err(refuse(&format!("it belongs to user {}, not to {}", is.uid(), own_uid())));
    }
    if is.mode() & 0o077 != 0 {
        return Err(refuse(&format!("other users have access (mode {:04o})", is.mode() & 0o7777)));
    }
    if is.len() > MOST {
        return Err(refuse("it is too large"));
    }
    let mut content = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, MOST), &mut content)
        .map_err(|error| refuse(&rocksalt_modules::reason(&error)))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_private_files_are_read() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("rocksalt-agent-journal-1");
        write(&path, b"abc").expect("written");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).expect("ours"), b"abc");
        write(&path, b"abcd").expect("written again");
        assert_eq!(read(&path).expect("ours"), b"abcd");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        assert!(read(&path).is_err_and(|why| why.contains("mode 0640")));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(read(&link).is_err(), "a link is not followed");
        fs::hard_link(&path, place.path().join("other")).expect("a second name");
        assert!(read(&path).is_err_and(|why| why.contains("not a regular file")));
        if rustix::process::geteuid().is_root() {
            let foreign = place.path().join("foreign");
            write(&foreign, b"x").expect("written");
            std::os::unix::fs::chown(&foreign, Some(65534), None).expect("chown");
            assert!(read(&foreign).is_err_and(|why| why.contains("belongs to user 65534")));
        }
    }

    #[test]
    fn only_private_directories_are_used() {
        let place = tempfile::tempdir().expect("a directory");
        assert!(is_private(place.path()));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
        assert!(!is_private(place.path()));
        assert!(!is_on_disk(Path::new("/dev/shm")) || !Path::new("/dev/shm").exists());
    }
}
