//! [`SpoolRecords`]: the records of the jobs that this process runs, in the spool.
//!
//! A failed write never ends a job: the results are still printed.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rocksalt_backends::store::Error;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::{Event, JobId};

use super::Spool;
use super::file::JobFile;
use crate::job_events;
use crate::job_records::JobRecords;
use crate::ledger::NewJob;

pub struct SpoolRecords {
    /// `None`: nothing is recorded.
    spool: Option<Spool>,
    /// Microseconds since 1970.
    now: fn() -> u64,
    /// The name of this machine.
    owner: String,
    /// The files of the jobs that run now.
    files: Mutex<HashMap<JobId, JobFile>>,
}

impl SpoolRecords {
    pub fn new(spool: Option<Spool>, now: fn() -> u64, owner: String) -> SpoolRecords {
        SpoolRecords { spool, now, owner, files: Mutex::default() }
    }

    /// Marks a job as cancelled because this process ends before it.
    pub fn abandon(&self, job: JobId) {
        if let Some(file) = self.files().remove(&job) {
            let _ = file.end(JobState::Cancelled, (self.now)());
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<JobId, JobFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl JobRecords for SpoolRecords {
    async fn begin(&self, new: NewJob, state: JobState) -> Result<Option<JobRecord>, Error> {
        let started = (self.now)();
        let chosen = new.id;
        let job = new.record(chosen.unwrap_or_else(|| JobId::at(started)), started, state, self.owner.clone());
        let Some(spool) = &self.spool else { return Ok(Some(job)) };
        let file = match spool.begin(job.clone(), chosen.is_none()) {
            Ok(file) => file,
            Err(error) if chosen.is_some() && error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(_) => return Ok(Some(job)),
        };
        // Every 32nd job on average removes old records: keeping a few too many does no harm.
        if started.is_multiple_of(32) {
            let _ = spool.prune(started);
        }
        let job = file.job.clone();
        self.files().insert(job.id, file);
        Ok(Some(job))
    }

    fn new_id(&self) -> JobId {
        JobId::at((self.now)())
    }

    fn return_record(&self, job: &JobRecord, target: String, outcome: TargetOutcome) -> ReturnRecord {
        let outputter = job_events::outputter(&job.function).map(str::to_owned);
        ReturnRecord { target, outcome, ended: (self.now)(), outputter, cut_from: None }
    }

    async fn store_returns(
        &self,
        job: &mut JobRecord,
        returns: &[ReturnRecord],
        end: Option<JobState>,
    ) -> Result<(), Error> {
        let mut files = self.files();
        if let Some(file) = files.get_mut(&job.id) {
            for record in returns {
                let _ = file.returned(record);
            }
        }
        if let Some(state) = end {
            let ended = (self.now)();
            (job.state, job.ended) = (state, Some(ended));
            if let Some(file) = files.remove(&job.id) {
                let _ = file.end(state, ended);
            }
        }
        Ok(())
    }

    async fn set_state(&self, job: &mut JobRecord, state: JobState) -> Result<(), Error> {
        job.state = state;
        if let Some(file) = self.files().get_mut(&job.id) {
            let _ = file.set_state(state);
        }
        Ok(())
    }

    fn has_events(&self) -> bool {
        false
    }

    async fn store_events(&self, _: &JobRecord, _: Vec<Event>) -> Result<(), Error> {
        Ok(())
    }

    fn publish_event(&self, _: &JobRecord, _: Event) {}
}
