//! The directory that the bootstrap installed the agent to.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Agents of other versions that were not started for this long are removed.
const OLD: Duration = Duration::from_secs(30 * 86_400);
/// Incomplete uploads are removed after this time.
const CUT_OFF: Duration = Duration::from_secs(3600);

const NAME: &str = "rocksalt-agent-";

/// Takes over from the bootstrap script: closes the descriptor through which this program was started, and finishes a
/// fresh upload. For a fresh upload the arguments continue with the word to announce the start with, the upload's
/// temporary name and its final name. Returns the directory.
pub fn finish_bootstrap(arguments: &[OsString]) -> Option<PathBuf> {
    let [descriptor, home, fresh @ ..] = arguments else { return None };
    // SAFETY: the bootstrap script opened descriptor 9 for this very program and says so by this argument; nothing in
    // this process has used it yet. Commands must not inherit it.
    #[allow(unsafe_code)]
    let program = (descriptor == "9").then(|| fs::File::from(unsafe { OwnedFd::from_raw_fd(9) }));
    // Otherwise `ps` would show the number of the descriptor.
    let _ = rustix::thread::set_name(c"rocksalt-agent");
    let home = PathBuf::from(home);
    if let [word, temporary, name] = fresh {
        // A failed write needs no handling: the link is gone then, so the agent ends at its first read.
        let line = [b"\n", word.as_bytes(), b" start ", home.as_os_str().as_bytes(), b"\n"].concat();
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
        // If the rename fails, the agent still runs, and the next connection uploads it again. With `--wipe` the
        // temporary file has been removed already.
        let path = home.join(name);
        if let Some(program) = &program
            && fs::symlink_metadata(temporary).is_ok()
            && make_directory(&home).is_ok()
            && fs::rename(temporary, &path).is_ok()
        {
            let _ = record_check(program, path);
        }
    }
    drop(program);
    remove_old_agents(&home);
    Some(home)
}

/// Creates the directory for the upload that lies beside it, which saves the bootstrap script a process.
fn make_directory(home: &Path) -> std::io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(home) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // Another login of this user may have created it meanwhile.
            let is = fs::symlink_metadata(home)?;
            match is.is_dir() && is.uid() == rustix::process::geteuid().as_raw() {
                true => Ok(()),
                false => Err(error),
            }
        }
        made => made,
    }
}

/// Records that this file was hashed, in the format of the `stat` that the bootstrap script compares it with. If the
/// target's `stat` prints another format, the script hashes once more and writes its own record.
fn record_check(program: &fs::File, path: PathBuf) -> std::io::Result<()> {
    let is = program.metadata()?;
    let changed = format_time(is.mtime(), is.mtime_nsec());
    let line =
        format!("{} {} {} {changed} {}\n", is.dev(), is.ino(), is.size(), format_time(is.ctime(), is.ctime_nsec()));
    let mut note = path.into_os_string();
    note.push(".ok");
    let _ = fs::remove_file(&note);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&note)?.write_all(line.as_bytes())
}

/// A time in UTC as `stat` prints it.
fn format_time(seconds: i64, nanoseconds: i64) -> String {
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years start in March here, so that the leap day is the last one; an era is 400 years.
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year + i64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}.{nanoseconds:09} +0000")
}

/// Removes every agent and its directory, for `--wipe`.
pub fn wipe(home: &Path) {
    for path in agent_files(home) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_dir_all(home.join(crate::kept_calls::DIRECTORY));
    let _ = fs::remove_dir(home);
}

/// Removes old versions and incomplete uploads.
fn remove_old_agents(home: &Path) {
    for path in agent_files(home) {
        let temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let limit = if temporary { CUT_OFF } else { OLD };
        let used = fs::metadata(&path).and_then(|metadata| metadata.accessed().or_else(|_| metadata.modified()));
        let age = used.ok().and_then(|used| SystemTime::now().duration_since(used).ok());
        if age.is_some_and(|age| age > limit) {
            let _ = fs::remove_file(path);
        }
    }
}

fn agent_files(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().trim_start_matches('.').starts_with(NAME))
    };
    paths.filter(is_ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_stat_prints() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000000007 +0000"),
            (951_782_399, "2000-02-28 23:59:59.000000007 +0000"),
            (951_782_400, "2000-02-29 00:00:00.000000007 +0000"),
            (1_709_251_200, "2024-03-01 00:00:00.000000007 +0000"),
            (4_107_542_399, "2100-02-28 23:59:59.000000007 +0000"),
            (4_107_542_400, "2100-03-01 00:00:00.000000007 +0000"),
            (-1, "1969-12-31 23:59:59.000000007 +0000"),
        ] {
            assert_eq!(format_time(seconds, 7), text);
        }
    }

    #[test]
    fn a_fresh_upload_is_noted_as_stat_would() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("rocksalt-agent-abc");
        fs::write(&path, "abc").expect("written");
        record_check(&fs::File::open(&path).expect("opened"), path.clone()).expect("noted");
        let mut stat = std::process::Command::new("stat");
        let said = stat.args(["-Lc", "%d %i %s %y %z"]).arg(&path).env("TZ", "UTC0").output().expect("stat runs");
        assert_eq!(fs::read(home.path().join("rocksalt-agent-abc.ok")).expect("read"), said.stdout);
    }
}
