//! [`StateLock`]: a locked file, so that two runs of states never overlap on a machine. Each controller has its own
//! queues; the lock also covers runs of other controllers.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::{JobId, Value};
use rocksalt_modules::machine::{HostSystem, Probe};
use rustix::fs::{FlockOperation, flock};

use crate::private_files;

const NAME: &str = "rocksalt-agent-states";

/// Seconds between two attempts to get the lock.
const PAUSE: f64 = 0.2;

/// Released when it is dropped, or when its process dies.
pub struct StateLock<'h> {
    file: File,
    host: &'h HostSystem,
    /// The file says which run has the lock.
    names_owner: bool,
}

impl Drop for StateLock<'_> {
    fn drop(&mut self) {
        if self.names_owner {
            let _ = self.file.set_len(0);
            self.host.guard().unlocked();
            // The guard had it too, until it reads that.
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

impl<'h> StateLock<'h> {
    /// Gets the lock; waits for it with `queue`. `None` if no directory can hold the file: then the run has no lock.
    /// A dry run does not create the file either: if there is none, nobody holds the lock.
    pub fn acquire(
        host: &'h HostSystem,
        function: &str,
        queue: bool,
        dry: bool,
    ) -> Result<Option<StateLock<'h>>, Return> {
        let Some(mut file) = open(dry) else { return Ok(None) };
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if !queue {
                return Err(refused(function, &mut file));
            }
            host.sleep(PAUSE).map_err(|error| Return::from(error.problem()))?;
        }
        if dry {
            return Ok(Some(StateLock { file, host, names_owner: false }));
        }
        let job = host.job().map(|job| job.to_string()).unwrap_or_default();
        // The content is only for the text of a refusal.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = file.write_all(format!("{} {job} {function}\n", std::process::id()).as_bytes());
        host.guard().locked(&file);
        Ok(Some(StateLock { file, host, names_owner: true }))
    }
}

/// Opens the one lock file of the user: agents of several controllers must find the same, wherever they are installed.
fn open(dry: bool) -> Option<File> {
    let places = private_files::durable_directories();
    // The agent's own directory may differ from controller to controller.
    let shared = places.iter().rev().take(2).rev();
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits().cast_signed();
    let usable = |directory: &PathBuf| {
        if dry { private_files::is_private(directory) } else { private_files::make_private(directory) }
    };
    for directory in shared.filter(|directory| usable(directory)) {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(!dry).truncate(false).mode(0o600).custom_flags(flags);
        if let Ok(file) = options.open(directory.join(NAME)) {
            return Some(file);
        }
    }
    None
}

/// The run that a lock's file names.
struct LockOwner {
    process: String,
    job: Option<JobId>,
    function: String,
}

impl LockOwner {
    fn read(file: &mut File) -> Option<LockOwner> {
        let mut held = String::new();
        file.rewind().ok()?;
        file.take(1024).read_to_string(&mut held).ok()?;
        let line = held.strip_suffix('\n')?;
        let [process, job, function] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { return None };
        Some(LockOwner { process: process.into(), job: job.parse().ok(), function: function.into() })
    }
}

/// The refusal in Salt's form and wording: a list with one text.
fn refused(function: &str, file: &mut File) -> Return {
    let owner = LockOwner::read(file);
    let text = match owner.map(|owner| (Path::new("/proc").join(&owner.process).exists(), owner)) {
        Some((true, LockOwner { process, job: Some(job), function: other })) => {
            let started = job.start_time();
            format!("The function \"{other}\" is running as PID {process} and was started at {started} with jid {job}")
        }
        Some((false, LockOwner { job, function: other, .. })) => {
            let job = job.map(|job| format!(" with jid {job}")).unwrap_or_default();
            format!("The agent of {other}{job} was killed, and what it had started is being ended")
        }
        // A dry run writes nothing into the file.
        _ => format!("The function \"{function}\" can't run: other states are applied here at this moment"),
    };
    let problem = Problem::new(ProblemKind::Refused, text.as_str()).hint("wait for it, or give queue=True");
    Return { value: vec![Value::from(text)].into(), retcode: 1, problem: Some(problem) }
}
