//! Stores an agent in the user's own directory, as the bootstrap script does on any target.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;

use super::Agent;

/// Opens the agent's file, and writes it first if it does not exist: starting a file costs less than copying the agent
/// into memory each time.
///
/// A file is used only if nobody but this user can have written it.
pub fn open(home: &Path, agent: &Agent) -> io::Result<File> {
    let directory = home.join(".rocksalt");
    let path = directory.join(format!("rocksalt-agent-{}", agent.hash));
    open_private(&directory, &path, agent).or_else(|_| {
        write(&directory, &path, agent)?;
        open_private(&directory, &path, agent)
    })
}

fn open_private(directory: &Path, path: &Path, agent: &Agent) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
    let (is, above) = (file.metadata()?, fs::symlink_metadata(directory)?);
    let whole = is.is_file() && usize::try_from(is.len()).is_ok_and(|length| length == agent.binary().len());
    match whole && above.is_dir() && is_private(&is) && is_private(&above) {
        true => Ok(file),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn is_private(is: &Metadata) -> bool {
    is.uid() == rustix::process::geteuid().as_raw() && is.mode() & 0o022 == 0
}

/// Numbers the temporary files of this process: two threads can start their first local agent at once.
static WRITES: AtomicU32 = AtomicU32::new(0);

/// Writes to a temporary name, and renames the complete file.
fn write(directory: &Path, path: &Path, agent: &Agent) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!(".rocksalt-agent-{}.{}.{number}", agent.hash, std::process::id()));
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&temporary)?;
    let written = file.write_all(agent.binary()).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn content(home: &Path, agent: &Agent) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(home, agent)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn only_a_private_and_whole_file_is_used() {
        let home = tempfile::tempdir().expect("a directory");
        let agent = Agent::new("x86_64", b"agent".as_slice());
        assert_eq!(content(home.path(), &agent).expect("it is written"), b"agent");
        let directory = home.path().join(".rocksalt");
        let path = directory.join(format!("rocksalt-agent-{}", agent.hash));
        let written = fs::metadata(&path).expect("it is there").ino();
        assert_eq!(content(home.path(), &agent).expect("it is found"), b"agent");
        assert_eq!(fs::metadata(&path).expect("it is there").ino(), written, "it is not written again");
        // Replaces a file that others can write to, a truncated one, and a link.
        fs::set_permissions(&path, Permissions::from_mode(0o722)).expect("it is ours");
        assert_eq!(content(home.path(), &agent).expect("it is replaced"), b"agent");
        fs::write(&path, b"age").expect("it is ours");
        assert_eq!(content(home.path(), &agent).expect("it is replaced"), b"agent");
        fs::remove_file(&path).expect("it is ours");
        std::os::unix::fs::symlink("/bin/true", &path).expect("it is ours");
        assert_eq!(content(home.path(), &agent).expect("it is replaced"), b"agent");
        // Refuses a directory that others can write to.
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).expect("it is ours");
        assert!(content(home.path(), &agent).is_err());
    }

    #[test]
    fn threads_write_it_side_by_side() {
        let home = tempfile::tempdir().expect("a directory");
        let agent = Agent::new("x86_64", vec![7; 1 << 20]);
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        content(home.path(), &agent).map(|content| content == agent.binary())
                    })
                })
                .collect();
            for opened in opened {
                assert!(opened.join().expect("the thread ends").expect("the agent is opened"));
            }
        });
        let left = fs::read_dir(home.path().join(".rocksalt")).expect("it is there").count();
        assert_eq!(left, 1, "no temporary file is left");
    }
}
