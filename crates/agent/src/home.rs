//! The directory that the agent was put in.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Agents of other versions that nobody started for so long are removed.
const OLD: Duration = Duration::from_secs(30 * 86_400);
/// Uploads that were cut off are removed after so long.
const CUT_OFF: Duration = Duration::from_secs(3600);

const NAME: &str = "rocksalt-agent-";

/// Takes over what the bootstrap left: a descriptor to close, and the directory.
pub fn settle(arguments: &[OsString]) -> Option<PathBuf> {
    let [descriptor, home] = arguments else { return None };
    if descriptor == "9" {
        // SAFETY: the bootstrap script opened descriptor 9 for this very program and says so by
        // this argument; nothing in this process has used it yet. Commands must not inherit it.
        #[allow(unsafe_code)]
        drop(unsafe { OwnedFd::from_raw_fd(9) });
    }
    // Shown by `ps` instead of the descriptor's number that it was started by.
    let _ = rustix::thread::set_name(c"rocksalt-agent");
    let home = PathBuf::from(home);
    tidy(&home);
    Some(home)
}

/// Removes every agent and its directory, for `--wipe`.
pub fn wipe(home: &Path) {
    for path in ours(home) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_dir(home);
}

/// Removes what earlier versions and broken uploads left.
fn tidy(home: &Path) {
    for path in ours(home) {
        let temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let limit = if temporary { CUT_OFF } else { OLD };
        let used = fs::metadata(&path).and_then(|metadata| metadata.accessed().or_else(|_| metadata.modified()));
        let age = used.ok().and_then(|used| SystemTime::now().duration_since(used).ok());
        if age.is_some_and(|age| age > limit) {
            let _ = fs::remove_file(path);
        }
    }
}

fn ours(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().trim_start_matches('.').starts_with(NAME))
    };
    paths.filter(is_ours).collect()
}
