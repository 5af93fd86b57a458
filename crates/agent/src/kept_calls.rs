//! [`CallNote`]: a file for a call whose result must survive the controller, the link and this agent
//! (`docs/decisions/0020-kept-calls.md`).
//!
//! The note is written before the call starts and locked while it runs. The result replaces the note, and stays until
//! the controller says that it has stored it. A note without a lock and without a result belongs to a call that died.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use rocksalt_core::JobId;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_modules::machine::ActiveCall;
use rustix::fs::{FlockOperation, flock};

use crate::private_files;

/// Has the prefix of all names in an agent's directory, so that `--wipe` removes it too.
pub const DIRECTORY: &str = "rocksalt-agent-kept";

/// Results that nobody asked for are removed after this time, and so are the oldest beyond the limits below.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
const MOST: usize = 1000;
const BYTES: u64 = 64 << 20;

/// A larger result would not fit into a frame.
const LARGEST: usize = rocksalt_core::frame::MAX_FRAME - 4096;

pub struct CallNote {
    path: PathBuf,
    /// Locked while the process lives, so that other processes can tell whether it does.
    _lock: File,
}

/// The status of a kept call.
#[derive(Debug, PartialEq, Eq)]
pub enum CallStatus {
    Done(Vec<u8>),
    Running,
    Died,
    Unknown,
}

impl CallNote {
    /// Returns when the note is on the disk. `None` if no directory can hold it: then the call runs without one.
    ///
    /// A call that already has a note is refused, unless it resumes (`again`) after a reboot.
    pub fn begin(job: JobId, target: &str, function: &str, again: bool) -> Result<Option<CallNote>, Problem> {
        static CLEANED: Once = Once::new();
        let Some(directory) = private_files::durable_directories().iter().find_map(|base| note_directory(base)) else {
            return Ok(None);
        };
        CLEANED.call_once(|| remove_old(&directory, SystemTime::now()));
        CallNote::begin_in(&directory, job, target, function, again)
    }

    fn begin_in(
        directory: &Path,
        job: JobId,
        target: &str,
        function: &str,
        again: bool,
    ) -> Result<Option<CallNote>, Problem> {
        let path = directory.join(key(job, target));
        if again {
            let _ = fs::remove_file(&path);
        }
        let created = match ending(&path, "done").exists() {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => private_files::create(&path),
        };
        let mut file = match created {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = format!("the job {job} began here before, and does not run a second time");
                return Err(Problem::new(ProblemKind::Refused, text));
            }
            Err(_) => return Ok(None),
        };
        // The controller was told that the call never began, so it must not begin now.
        if ending(&path, "never").exists() {
            let _ = fs::remove_file(&path);
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("the job {job} was given up before it arrived here"),
            ));
        }
        let written = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(format!("{}\n{function}\n", std::process::id()).as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| File::open(directory)?.sync_all());
        match written {
            Ok(()) => Ok(Some(CallNote { path, _lock: file })),
            // For example because the disk is full.
            Err(_) => {
                let _ = fs::remove_file(&path);
                Ok(None)
            }
        }
    }

    /// Replaces the note by the result, without waiting for the disk: written data outlives this process, and if the
    /// machine goes down now, the note still says that the call began.
    pub fn finish(self, result: &Return) {
        let mut bytes = result.to_bytes();
        if bytes.len() > LARGEST {
            let text = format!("the result of {} bytes is too large to be kept", bytes.len());
            bytes = Return::from(Problem::new(ProblemKind::Failed, text)).to_bytes();
        }
        let temporary = ending(&self.path, "new");
        let _ = fs::remove_file(&temporary);
        let written = private_files::create(&temporary).and_then(|mut file| file.write_all(&bytes));
        if written.and_then(|()| fs::rename(&temporary, ending(&self.path, "done"))).is_ok() {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// The number of the signal that [`stop`] requested while there was no link.
    pub fn requested_signal(&self) -> Option<u8> {
        String::from_utf8(private_files::read(&ending(&self.path, "stop")).ok()?).ok()?.trim().parse().ok()
    }
}

/// The status of a job's call. An unknown call is barred from starting later: its message may still be on the way, but
/// the caller will count it as lost.
pub fn status(job: JobId, target: &str) -> CallStatus {
    let look = || {
        let mut statuses = directories().map(|directory| status_in(&directory, job, target));
        statuses.find(|status| *status != CallStatus::Unknown).unwrap_or(CallStatus::Unknown)
    };
    let status = look();
    if status != CallStatus::Unknown {
        return status;
    }
    if let Some(directory) = private_files::durable_directories().iter().find_map(|base| note_directory(base)) {
        let _ = private_files::create(&ending(&directory.join(key(job, target)), "never"));
    }
    // The call may have begun since the first look.
    look()
}

fn status_in(directory: &Path, job: JobId, target: &str) -> CallStatus {
    let path = directory.join(key(job, target));
    let result = || private_files::read(&ending(&path, "done")).ok().map(CallStatus::Done);
    if let Some(done) = result() {
        return done;
    }
    let Ok(file) = File::open(&path) else { return result().unwrap_or(CallStatus::Unknown) };
    if flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        return CallStatus::Running;
    }
    // The call may have ended since the first look.
    result().unwrap_or(CallStatus::Died)
}

/// Calls that other agents run on this machine, for `saltutil.running`.
pub fn other_agents_calls() -> Vec<ActiveCall> {
    directories().flat_map(|directory| calls_in(&directory, std::process::id())).collect()
}

fn calls_in(directory: &Path, own: u32) -> Vec<ActiveCall> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let notes = entries.map(|entry| entry.path()).filter(|path| path.extension().is_none());
    let running = notes.filter_map(|path| {
        let job = path.file_name()?.to_str()?.get(..20)?.parse().ok();
        let file = File::open(&path).ok()?;
        let since = file.metadata().ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64();
        flock(&file, FlockOperation::NonBlockingLockShared).is_err().then_some(())?;
        let text = String::from_utf8(private_files::read(&path).ok()?).ok()?;
        let (process, function) = text.trim_end().split_once('\n')?;
        let others = process != own.to_string();
        others.then(|| ActiveCall { job, function: function.to_owned(), args: Vec::new(), since })
    });
    running.collect()
}

/// Requests that a call without a link ends; the agent that runs it polls for the request.
pub fn stop(job: JobId, target: &str, signal: u8) {
    for directory in directories() {
        let path = directory.join(key(job, target));
        if path.exists() {
            let request = ending(&path, "stop");
            let _ = fs::remove_file(&request);
            let _ = private_files::create(&request).and_then(|mut file| file.write_all(signal.to_string().as_bytes()));
        }
    }
}

/// Removes the result, once the controller has stored it or knows that there is none.
pub fn forget(job: JobId, target: &str) {
    for directory in directories() {
        let path = directory.join(key(job, target));
        for path in [ending(&path, "done"), ending(&path, "stop"), path] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The directory for notes in `base`, if both are private.
fn note_directory(base: &Path) -> Option<PathBuf> {
    let directory = base.join(DIRECTORY);
    (private_files::make_private(base) && private_files::make_private(&directory)).then_some(directory)
}

fn directories() -> impl Iterator<Item = PathBuf> {
    private_files::durable_directories()
        .into_iter()
        .map(|base| base.join(DIRECTORY))
        .filter(|directory| private_files::is_private(directory))
}

/// Hashes the target's name: it may have any characters, so it must not be part of a path
/// (`docs/security-rules.md#r6`).
fn key(job: JobId, target: &str) -> String {
    // FNV-1a suffices because nothing secret depends on it, and the small agent has no other hash.
    let hash = target
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{job}-{hash:016x}")
}

fn ending(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// Removes results that nobody asked for, and the oldest ones beyond the limits.
fn remove_old(directory: &Path, now: SystemTime) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let is = entry.metadata().ok()?;
            Some((is.modified().ok()?, is.len(), entry.path()))
        })
        .collect();
    files.sort_unstable();
    let (mut count, mut bytes) = (files.len(), files.iter().map(|(_, size, _)| size).sum::<u64>());
    for (changed, size, path) in files {
        let old = now.duration_since(changed).is_ok_and(|age| age > LONGEST);
        if !old && count <= MOST && bytes <= BYTES {
            break;
        }
        let held = File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err());
        if !held && fs::remove_file(&path).is_ok() {
            count -= 1;
            bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(time: u64) -> JobId {
        JobId::at(time)
    }

    fn result(text: &str) -> Return {
        Return { value: text.into(), retcode: 0, problem: None }
    }

    #[test]
    fn a_call_is_known_from_its_beginning_until_its_result_is_stored() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = note_directory(place.path()).expect("a place");
        let found = || status_in(&directory, job(1), "../h1");
        assert_eq!(found(), CallStatus::Unknown);
        let note = CallNote::begin_in(&directory, job(1), "../h1", "cmd.run", false).expect("new").expect("noted");
        assert_eq!(note.path.parent(), Some(directory.as_path()), "no name leads elsewhere");
        assert_eq!(found(), CallStatus::Running);
        assert!(calls_in(&directory, std::process::id()).is_empty(), "our own are known otherwise");
        let seen = calls_in(&directory, 0);
        assert_eq!(
            seen.iter().map(|one| (one.job, one.function.as_str())).collect::<Vec<_>>(),
            [(Some(job(1)), "cmd.run")]
        );
        assert_eq!(status_in(&directory, job(1), "h2"), CallStatus::Unknown);
        assert!(CallNote::begin_in(&directory, job(1), "../h1", "cmd.run", false).is_err(), "never twice");
        note.finish(&result("fine"));
        assert_eq!(found(), CallStatus::Done(result("fine").to_bytes()));
        assert!(CallNote::begin_in(&directory, job(1), "../h1", "cmd.run", false).is_err(), "never twice");
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 1);
    }

    #[test]
    fn a_call_that_died_is_known_to_have_begun() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = note_directory(place.path()).expect("a place");
        let note = CallNote::begin_in(&directory, job(1), "h1", "cmd.run", false).expect("new").expect("noted");
        // As after `kill -9`: the lock is released, the file stays.
        drop(note);
        assert_eq!(status_in(&directory, job(1), "h1"), CallStatus::Died);
        assert!(CallNote::begin_in(&directory, job(1), "h1", "cmd.run", false).is_err());
        let again =
            CallNote::begin_in(&directory, job(1), "h1", "state.resume", true).expect("goes on").expect("noted");
        assert_eq!(status_in(&directory, job(1), "h1"), CallStatus::Running);
        again.finish(&result("after the restart"));
        assert_eq!(status_in(&directory, job(1), "h1"), CallStatus::Done(result("after the restart").to_bytes()));
    }

    #[test]
    fn what_nobody_comes_back_for_is_thrown_away() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = note_directory(place.path()).expect("a place");
        let running = CallNote::begin_in(&directory, job(0), "h1", "cmd.run", false).expect("new").expect("noted");
        for time in 1..=3 {
            let note = CallNote::begin_in(&directory, job(time), "h1", "cmd.run", false).expect("new").expect("noted");
            note.finish(&result("x"));
        }
        remove_old(&directory, SystemTime::now());
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 4);
        remove_old(&directory, SystemTime::now() + LONGEST + Duration::from_secs(60));
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 1, "only what runs is left");
        drop(running);
    }

    #[test]
    fn what_was_said_to_have_never_begun_does_not_begin() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = note_directory(place.path()).expect("a place");
        private_files::create(&directory.join(key(job(1), "h1")).with_extension("never")).expect("made");
        let late = CallNote::begin_in(&directory, job(1), "h1", "cmd.run", false);
        assert!(late.is_err_and(|problem| problem.text.contains("given up")));
        assert_eq!(status_in(&directory, job(1), "h1"), CallStatus::Unknown);
        assert!(CallNote::begin_in(&directory, job(2), "h1", "cmd.run", false).is_ok_and(|note| note.is_some()));
    }

    #[test]
    fn a_directory_of_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a directory");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
        assert!(note_directory(place.path()).is_none());
    }
}
