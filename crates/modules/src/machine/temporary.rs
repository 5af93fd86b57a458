//! [`Temporary`]: a file that becomes visible only when it is complete.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// A file that is being written and will replace another one. If it is dropped before that, it is removed.
///
/// Where the file system allows it, the file has no name until it is complete: a killed agent leaves nothing behind.
pub struct Temporary {
    file: fs::File,
    /// In the directory of the file that it will replace.
    path: PathBuf,
    mode: Option<u32>,
}

impl Temporary {
    pub fn beside(path: &Path, mode: Option<u32>) -> io::Result<Temporary> {
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let number = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let name = format!(".{}.{}.{number}", name.to_string_lossy(), std::process::id());
        let temporary = path.with_file_name(name);
        let file = match nameless(path) {
            Some(file) => file,
            None => fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?,
        };
        Ok(Temporary { path: temporary, file, mode })
    }

    pub fn write_all(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)
    }

    pub fn take_place_of(self, path: &Path) -> io::Result<()> {
        let before = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        if let Some(before) = &before {
            // Only root may change the owner; for other users the file is already their own.
            let _ = std::os::unix::fs::fchown(&self.file, Some(before.uid()), Some(before.gid()));
            copy_attributes(path, &self.file);
        }
        let mode = self.mode.or_else(|| before.map(|before| before.mode() & 0o7777)).unwrap_or_else(default_mode);
        self.file.set_permissions(fs::Permissions::from_mode(mode))?;
        self.file.sync_data()?;
        if self.file.metadata()?.nlink() == 0 {
            // A link can't replace a file, so the file gets a temporary name just before the rename.
            rustix::fs::linkat(CWD, own(&self.file), CWD, &self.path, AtFlags::SYMLINK_FOLLOW)?;
        }
        fs::rename(&self.path, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename this name no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

/// A file without a name in the directory of `path`; `None` if that isn't supported.
fn nameless(path: &Path) -> Option<fs::File> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR).ok()?);
    // The file gets its name through this path.
    own(&file).exists().then_some(file)
}

fn own(file: &fs::File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Copies access lists, the SELinux label and user attributes of a file.
///
/// Called before the mode is set: an access list changes the group's bits. An attribute that the file system or the
/// policy refuses is no failure; capabilities are not copied, since they belong to the old content.
fn copy_attributes(from: &Path, to: &fs::File) {
    const LIMIT: usize = 64 * 1024;
    let mut names = vec![0; LIMIT];
    let Ok(length) = rustix::fs::llistxattr(from, names.as_mut_slice()) else { return };
    names.truncate(length);
    let mut value = vec![0; LIMIT];
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty() && *name != b"security.capability") {
        if let Ok(length) = rustix::fs::lgetxattr(from, name, value.as_mut_slice()) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}

/// The mode of a new file: readable by all, less the umask.
fn default_mode() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
    let mask = mask.and_then(|mask| u32::from_str_radix(mask, 8).ok()).unwrap_or(0o022);
    0o666 & !mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_sees_a_file_before_it_is_whole_and_nothing_is_left_of_one_that_never_was() {
        let place = tempfile::tempdir().expect("there is room for a directory");
        let path = place.path().join("file");
        fs::write(&path, "old").expect("it is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
        let names = || fs::read_dir(place.path()).expect("it is ours").count();
        let mut broken_off = Temporary::beside(&path, None).expect("there is room");
        broken_off.write_all(b"half").expect("there is room");
        if nameless(&path).is_some() {
            assert_eq!(names(), 1, "it has a name already");
        }
        drop(broken_off);
        assert_eq!((names(), fs::read(&path).expect("it is ours")), (1, b"old".to_vec()));
        let mut whole = Temporary::beside(&path, None).expect("there is room");
        whole.write_all(b"new").expect("there is room");
        whole.take_place_of(&path).expect("it is ours");
        assert_eq!((names(), fs::read(&path).expect("it is ours")), (1, b"new".to_vec()));
        assert_eq!(fs::metadata(&path).expect("it is ours").mode() & 0o777, 0o640, "it keeps the mode of the old one");
    }
}
