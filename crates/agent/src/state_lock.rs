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
pub struct StateLock {
    file: File,
    /// The file says which run has the lock.
    names_owner: bool,
}

impl Drop for StateLock {
    fn drop(&mut self) {
        if self.names_owner {
            let _ = self.file.set_len(0);
        }
    }
}

impl StateLock {
    /// Gets the lock; waits for it with `queue`. `None` if no directory can hold the file: then the run has no lock.
    /// A dry run does not create the file either: if there is none, nobody holds the lock.
    pub fn acquire(host: &HostSystem, function: &str, queue: bool, dry: bool) -> Result<Option<StateLock>, Return> {
        let Some(mut file) = open(dry) else { return Ok(None) };
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if !queue {
                return Err(refused(function, &mut file));
            }
            host.sleep(PAUSE).map_err(|error| Return::from(error.problem()))?;
        }
        if dry {
            return Ok(Some(StateLock { file, names_owner: false }));
        }
        let job = host.job().map(|job| job.to_string()).unwrap_or_default();
        // The content is only for the text of a refusal.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = file.write_all(format!("{} {job} {function}\n", std::process::id()).as_bytes());
        Ok(Some(StateLock { file, names_owner: true }))
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

/// The refusal in Salt's form and wording: a list with one text.
fn refused(function: &str, file: &mut File) -> Return {
    let mut held = String::new();
    let _ = file.rewind();
    let _ = file.take(1024).read_to_string(&mut held);
    let words: Vec<&str> = held.split_whitespace().collect();
    let (by, job) = match words[..] {
        // The file of a run that has ended says nothing about a dry run, which writes nothing.
        [process, job, other] if Path::new("/proc").join(process).exists() => {
            (format!(" as PID {process}"), job.parse::<JobId>().ok().map(|job| (job, other)))
        }
        _ => (String::new(), None),
    };
    let text = match job {
        Some((job, other)) => {
            format!("The function \"{other}\" is running{by} and was started at {} with jid {job}", job.start_time())
        }
        None => format!("The function \"{function}\" can't run: other states are applied here at this moment"),
    };
    let problem = Problem::new(ProblemKind::Refused, text.as_str()).hint("wait for it, or give queue=True");
    Return { value: vec![Value::from(text)].into(), retcode: 1, problem: Some(problem) }
}
