//! [`Note`]: what is noted of a call that must be answered for even if its controller goes, or the link, or this agent
//! (`docs/decisions/0020-kept-calls.md`).
//!
//! A call's note is made before it starts and locked while it runs; its result takes the note's place, and stays until
//! the controller says that it is stored. A note that nobody holds, without a result, is that of a call which died.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use rocksalt_core::JobId;
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_modules::machine::Running;
use rustix::fs::{FlockOperation, flock};

use crate::place;

/// As all names in an agent's directory, so that `--wipe` takes it away too.
pub const DIRECTORY: &str = "rocksalt-agent-kept";

/// Results that nobody asked for are thrown away after so long; or the oldest, if they are too many or too large.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
const MOST: usize = 1000;
const BYTES: u64 = 64 << 20;

/// A larger result could not be sent either.
const LARGEST: usize = rocksalt_core::frame::MAX_FRAME - 4096;

pub struct Note {
    path: PathBuf,
    /// Held as long as the process lives: so others know whether it does.
    _lock: File,
}

/// What is known of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    Done(Vec<u8>),
    Running,
    Died,
    Unknown,
}

impl Note {
    /// Comes back when it is on the disk. `None` if there is no place for it: the call goes without.
    ///
    /// A call that was noted before is refused, unless it goes on `again` after a restart of the machine.
    pub fn begin(job: JobId, target: &str, function: &str, again: bool) -> Result<Option<Note>, Problem> {
        static TIDIED: Once = Once::new();
        let Some(directory) = place::lasting().iter().find_map(|base| own(base)) else { return Ok(None) };
        TIDIED.call_once(|| tidy(&directory, SystemTime::now()));
        Note::begin_in(&directory, job, target, function, again)
    }

    fn begin_in(
        directory: &Path,
        job: JobId,
        target: &str,
        function: &str,
        again: bool,
    ) -> Result<Option<Note>, Problem> {
        let path = directory.join(key(job, target));
        if again {
            let _ = fs::remove_file(&path);
        }
        let created = match ending(&path, "done").exists() {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => place::create(&path),
        };
        let mut file = match created {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = format!("the job {job} was begun here before: it is not done a second time");
                return Err(Problem::new(ProblemKind::Refused, text));
            }
            Err(_) => return Ok(None),
        };
        // Somebody was told that it never began: so it must not begin any more.
        if ending(&path, "never").exists() {
            let _ = fs::remove_file(&path);
            return Err(Problem::new(ProblemKind::Refused, format!("the job {job} was given up before it came here")));
        }
        let written = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(format!("{}\n{function}\n", std::process::id()).as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| File::open(directory)?.sync_all());
        match written {
            Ok(()) => Ok(Some(Note { path, _lock: file })),
            // A full disk, say.
            Err(_) => {
                let _ = fs::remove_file(&path);
                Ok(None)
            }
        }
    }

    /// The result takes the note's place. It is not waited for the disk: what is written outlives this process, and if
    /// the machine goes down in this moment, the note still says that the call had begun.
    pub fn end(self, result: &Return) {
        let mut bytes = result.to_bytes();
        if bytes.len() > LARGEST {
            let text = format!("the result of {} bytes is too large to be kept", bytes.len());
            bytes = Return::from(Problem::new(ProblemKind::Failed, text)).to_bytes();
        }
        let temporary = ending(&self.path, "new");
        let _ = fs::remove_file(&temporary);
        let written = place::create(&temporary).and_then(|mut file| file.write_all(&bytes));
        if written.and_then(|()| fs::rename(&temporary, ending(&self.path, "done"))).is_ok() {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// How somebody wants the call to end, while there is no link to say it over: a signal's number.
    pub fn wish(&self) -> Option<u8> {
        String::from_utf8(place::read(&ending(&self.path, "stop")).ok()?).ok()?.trim().parse().ok()
    }
}

/// What is known here of a job's call. One that is not known can't begin here any more: its message may still be on the
/// way, and whoever asks takes it for lost.
pub fn find(job: JobId, target: &str) -> Found {
    let look = || {
        let mut found = directories().map(|directory| find_in(&directory, job, target));
        found.find(|found| *found != Found::Unknown).unwrap_or(Found::Unknown)
    };
    let found = look();
    if found != Found::Unknown {
        return found;
    }
    if let Some(directory) = place::lasting().iter().find_map(|base| own(base)) {
        let _ = place::create(&ending(&directory.join(key(job, target)), "never"));
    }
    // It may have begun in this very moment.
    look()
}

fn find_in(directory: &Path, job: JobId, target: &str) -> Found {
    let path = directory.join(key(job, target));
    let result = || place::read(&ending(&path, "done")).ok().map(Found::Done);
    if let Some(done) = result() {
        return done;
    }
    let Ok(file) = File::open(&path) else { return result().unwrap_or(Found::Unknown) };
    if flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        return Found::Running;
    }
    // It may have ended since the first look.
    result().unwrap_or(Found::Died)
}

/// Calls that other agents on this machine go on with, for `saltutil.running`.
pub fn beside() -> Vec<Running> {
    directories().flat_map(|directory| beside_in(&directory, std::process::id())).collect()
}

fn beside_in(directory: &Path, own: u32) -> Vec<Running> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let notes = entries.map(|entry| entry.path()).filter(|path| path.extension().is_none());
    let running = notes.filter_map(|path| {
        let job = path.file_name()?.to_str()?.get(..20)?.parse().ok();
        let file = File::open(&path).ok()?;
        let since = file.metadata().ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64();
        flock(&file, FlockOperation::NonBlockingLockShared).is_err().then_some(())?;
        let text = String::from_utf8(place::read(&path).ok()?).ok()?;
        let (process, function) = text.trim_end().split_once('\n')?;
        let others = process != own.to_string();
        others.then(|| Running { job, function: function.to_owned(), args: Vec::new(), since })
    });
    running.collect()
}

/// Asks a call that runs without a link to end; whoever runs it looks for this.
pub fn stop(job: JobId, target: &str, signal: u8) {
    for directory in directories() {
        let path = directory.join(key(job, target));
        if path.exists() {
            let wish = ending(&path, "stop");
            let _ = fs::remove_file(&wish);
            let _ = place::create(&wish).and_then(|mut file| file.write_all(signal.to_string().as_bytes()));
        }
    }
}

/// The controller has stored the result, or knows that there is none.
pub fn forget(job: JobId, target: &str) {
    for directory in directories() {
        let path = directory.join(key(job, target));
        for path in [ending(&path, "done"), ending(&path, "stop"), path] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The directory for notes below another one, if both are ours alone.
fn own(base: &Path) -> Option<PathBuf> {
    let directory = base.join(DIRECTORY);
    (place::make(base) && place::make(&directory)).then_some(directory)
}

fn directories() -> impl Iterator<Item = PathBuf> {
    place::lasting().into_iter().map(|base| base.join(DIRECTORY)).filter(|directory| place::is_safe(directory))
}

/// From the name of a target, which anybody may have written, only a number becomes part of a path (rule R6).
fn key(job: JobId, target: &str) -> String {
    // FNV-1a: no secret hangs on it, and the small agent has no other.
    let hash = target
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{job}-{hash:016x}")
}

fn ending(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// Throws away what nobody came back for, and what is too much.
fn tidy(directory: &Path, now: SystemTime) {
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
        let directory = own(place.path()).expect("a place");
        let found = || find_in(&directory, job(1), "../h1");
        assert_eq!(found(), Found::Unknown);
        let note = Note::begin_in(&directory, job(1), "../h1", "cmd.run", false).expect("new").expect("noted");
        assert_eq!(note.path.parent(), Some(directory.as_path()), "no name leads elsewhere");
        assert_eq!(found(), Found::Running);
        assert!(beside_in(&directory, std::process::id()).is_empty(), "our own are known otherwise");
        let seen = beside_in(&directory, 0);
        assert_eq!(
            seen.iter().map(|one| (one.job, one.function.as_str())).collect::<Vec<_>>(),
            [(Some(job(1)), "cmd.run")]
        );
        assert_eq!(find_in(&directory, job(1), "h2"), Found::Unknown);
        assert!(Note::begin_in(&directory, job(1), "../h1", "cmd.run", false).is_err(), "never twice");
        note.end(&result("fine"));
        assert_eq!(found(), Found::Done(result("fine").to_bytes()));
        assert!(Note::begin_in(&directory, job(1), "../h1", "cmd.run", false).is_err(), "never twice");
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 1);
    }

    #[test]
    fn a_call_that_died_is_known_to_have_begun() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = own(place.path()).expect("a place");
        let note = Note::begin_in(&directory, job(1), "h1", "cmd.run", false).expect("new").expect("noted");
        // As if it were killed: the lock goes, the file stays.
        drop(note);
        assert_eq!(find_in(&directory, job(1), "h1"), Found::Died);
        assert!(Note::begin_in(&directory, job(1), "h1", "cmd.run", false).is_err());
        let again = Note::begin_in(&directory, job(1), "h1", "state.resume", true).expect("goes on").expect("noted");
        assert_eq!(find_in(&directory, job(1), "h1"), Found::Running);
        again.end(&result("after the restart"));
        assert_eq!(find_in(&directory, job(1), "h1"), Found::Done(result("after the restart").to_bytes()));
    }

    #[test]
    fn what_nobody_comes_back_for_is_thrown_away() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = own(place.path()).expect("a place");
        let running = Note::begin_in(&directory, job(0), "h1", "cmd.run", false).expect("new").expect("noted");
        for time in 1..=3 {
            let note = Note::begin_in(&directory, job(time), "h1", "cmd.run", false).expect("new").expect("noted");
            note.end(&result("x"));
        }
        tidy(&directory, SystemTime::now());
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 4);
        tidy(&directory, SystemTime::now() + LONGEST + Duration::from_secs(60));
        assert_eq!(fs::read_dir(&directory).expect("read").count(), 1, "only what runs is left");
        drop(running);
    }

    #[test]
    fn what_was_said_to_have_never_begun_does_not_begin() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = own(place.path()).expect("a place");
        place::create(&directory.join(key(job(1), "h1")).with_extension("never")).expect("made");
        let late = Note::begin_in(&directory, job(1), "h1", "cmd.run", false);
        assert!(late.is_err_and(|problem| problem.text.contains("given up")));
        assert_eq!(find_in(&directory, job(1), "h1"), Found::Unknown);
        assert!(Note::begin_in(&directory, job(2), "h1", "cmd.run", false).is_ok_and(|note| note.is_some()));
    }

    #[test]
    fn a_directory_of_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a directory");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
        assert!(own(place.path()).is_none());
    }
}
