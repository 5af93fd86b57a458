//! [`Spool`]: the records of jobs that ran without a daemon, a file for each job, until a daemon imports them.
//!
//! Recording a job costs a few system calls: nothing is locked and nothing is synced, so commands never wait for each
//! other. If a command dies, the results so far stay, and its job counts as lost.

mod file;
mod process;
mod records;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rocksalt_core::JobId;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::request::JobFilter;

use crate::ledger::{self, Ledger};
pub use file::JobFile;
use file::Part;
pub use process::Process;
pub use records::SpoolRecords;

#[derive(Clone, Debug)]
pub struct Spool {
    pub directory: PathBuf,
    /// The owner of the directory.
    pub uid: u32,
    /// Older jobs are removed; 0 keeps all, as in Salt.
    pub keep_seconds: u64,
    /// The number of jobs to keep; the oldest are removed first.
    pub most: usize,
    /// A larger return is truncated, and its record says so.
    pub largest_return: usize,
}

/// A job of the spool.
#[derive(Clone, Debug, PartialEq)]
pub struct Spooled {
    pub job: JobRecord,
    pub returns: Vec<ReturnRecord>,
    /// The process that runs it; `None` when it has ended.
    pub process: Option<Process>,
}

impl Spool {
    pub fn new(directory: PathBuf, uid: u32) -> Spool {
        Spool { directory, uid, keep_seconds: 86_400, most: 1000, largest_return: 1 << 20 }
    }

    /// Creates a job's record. If its id is taken, the job gets the next free one with `may_rename`, otherwise this
    /// fails.
    pub fn begin(&self, job: JobRecord, may_rename: bool) -> io::Result<JobFile> {
        private_directory(&self.directory, self.uid)?;
        JobFile::create(&self.directory, job, may_rename, self.largest_return)
    }

    /// The matching jobs, the newest first.
    pub fn jobs(&self, filter: &JobFilter) -> io::Result<Vec<JobRecord>> {
        let mut found = Vec::new();
        for id in self.ids()?.into_iter().rev() {
            if found.len() >= filter.limit.unwrap_or(usize::MAX) {
                break;
            }
            if filter.before.is_some_and(|before| id >= before) {
                continue;
            }
            if let Some(spooled) = self.read(id, Part::Job)?
                && ledger::fits(filter, &spooled.job)
            {
                found.push(spooled.job);
            }
        }
        Ok(found)
    }

    /// A job with its returns so far.
    pub fn job(&self, id: JobId) -> io::Result<Option<Spooled>> {
        self.read(id, Part::All)
    }

    /// Removes jobs that are too old or too many. `now` is in microseconds since 1970.
    pub fn prune(&self, now: u64) -> io::Result<()> {
        let ids = self.ids()?;
        let oldest = match self.keep_seconds {
            0 => 0,
            seconds => now.saturating_sub(seconds.saturating_mul(1_000_000)),
        };
        let oldest = JobId::at(oldest);
        let too_many = ids.len().saturating_sub(self.most);
        for (place, id) in ids.into_iter().enumerate() {
            if place >= too_many && id >= oldest {
                break;
            }
            // Running jobs stay, no matter how old.
            if self.read(id, Part::Job)?.is_none_or(|spooled| spooled.process.is_none()) {
                fs::remove_file(self.path(id))?;
            }
        }
        Ok(())
    }

    /// Moves all jobs that have ended to a ledger. Returns their number.
    pub async fn import(&self, ledger: &Ledger) -> io::Result<usize> {
        let mut count = 0;
        for id in self.ids()? {
            let Some(mut spooled) = self.read(id, Part::All)? else { continue };
            if spooled.process.is_some() {
                continue;
            }
            spooled.add_lost();
            ledger.import(&spooled.job, &spooled.returns).await.map_err(io::Error::other)?;
            fs::remove_file(self.path(id))?;
            count += 1;
        }
        Ok(count)
    }

    /// The ids of all jobs, the oldest first.
    fn ids(&self) -> io::Result<Vec<JobId>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        verify(&self.directory, self.uid)?;
        let mut ids: Vec<JobId> =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn path(&self, id: JobId) -> PathBuf {
        self.directory.join(id.as_str())
    }

    /// Reads a job; `None` if there is no complete record of it.
    fn read(&self, id: JobId, part: Part) -> io::Result<Option<Spooled>> {
        let Some((mut job, returns, process)) = file::read(&self.path(id), part)? else { return Ok(None) };
        if job.state.ended() {
            return Ok(Some(Spooled { job, returns, process: None }));
        }
        if process.is_alive() {
            return Ok(Some(Spooled { job, returns, process: Some(process) }));
        }
        // The job may have ended since the first read.
        let Some((again, returns, _)) = file::read(&self.path(id), part)? else { return Ok(None) };
        job = again;
        if !job.state.ended() {
            job.state = JobState::Lost;
        }
        Ok(Some(Spooled { job, returns, process: None }))
    }
}

impl Spooled {
    /// If the job is lost, adds a return that says so for each target without one.
    pub fn add_lost(&mut self) {
        if self.job.state != JobState::Lost {
            return;
        }
        let missing: Vec<String> = self.missing().map(str::to_owned).collect();
        let ended = self.job.ended.unwrap_or(self.job.started);
        self.job.ended = Some(ended);
        let lost = |target| ReturnRecord {
            target,
            outcome: TargetOutcome::Lost("the command that ran it broke off".into()),
            ended,
            outputter: None,
            cut_from: None,
        };
        self.returns.extend(missing.into_iter().map(lost));
    }

    /// The targets without a return.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let known: std::collections::HashSet<&str> = self.returns.iter().map(|record| record.target.as_str()).collect();
        self.job.targets.iter().map(String::as_str).filter(move |id| !known.contains(id))
    }
}

/// Creates a directory that only its owner can use, and refuses one that others can (docs/security-rules.md#r10).
pub fn private_directory(path: &Path, uid: u32) -> io::Result<()> {
    if let Err(error) = fs::symlink_metadata(path) {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        make(path)?;
    }
    verify(path, uid)
}

/// Creates the missing parent directories too, each private to its owner.
fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = path.parent() else { return Err(error) };
            make(parent)?;
            match DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        }
        other => other,
    }
}

fn verify(path: &Path, uid: u32) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() && metadata.uid() == uid && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("{} is not a directory that only its owner can use", path.display()),
    ))
}

#[cfg(test)]
mod tests;
