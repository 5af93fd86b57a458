//! [`JobRecords`]: where a job is recorded: the daemon's ledger, or the spool of a command that runs without a daemon.

use async_trait::async_trait;
use rocksalt_backends::store::Error;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::{Event, JobId};

use crate::ledger::{Ledger, NewJob};

#[async_trait]
pub trait JobRecords: Send + Sync + 'static {
    /// Stores the record of a new job. Nothing may be sent before this returns.
    ///
    /// `None` if the job names an id that another job has.
    async fn begin(&self, new: NewJob, state: JobState) -> Result<Option<JobRecord>, Error>;

    /// A job id that this process has not used yet.
    fn new_id(&self) -> JobId;

    /// The record of a target's outcome, with the time.
    fn return_record(&self, job: &JobRecord, target: String, outcome: TargetOutcome) -> ReturnRecord;

    /// Stores returns and, with the last of them, the end of the job. Storing them again changes nothing.
    async fn store_returns(
        &self,
        job: &mut JobRecord,
        returns: &[ReturnRecord],
        end: Option<JobState>,
    ) -> Result<(), Error>;

    async fn set_state(&self, job: &mut JobRecord, state: JobState) -> Result<(), Error>;

    /// Whether anybody can read events; otherwise none are made.
    fn has_events(&self) -> bool;

    /// Stores events of a job.
    async fn store_events(&self, job: &JobRecord, events: Vec<Event>) -> Result<(), Error>;

    /// Sends an event of a job to the current listeners, without storing it.
    fn publish_event(&self, job: &JobRecord, event: Event);
}

#[async_trait]
impl JobRecords for Ledger {
    async fn begin(&self, new: NewJob, state: JobState) -> Result<Option<JobRecord>, Error> {
        Ledger::begin(self, new, state).await
    }

    fn new_id(&self) -> JobId {
        Ledger::new_id(self)
    }

    fn return_record(&self, job: &JobRecord, target: String, outcome: TargetOutcome) -> ReturnRecord {
        Ledger::return_record(self, job, target, outcome)
    }

    async fn store_returns(
        &self,
        job: &mut JobRecord,
        returns: &[ReturnRecord],
        end: Option<JobState>,
    ) -> Result<(), Error> {
        self.returned_all(job, returns, end).await
    }

    async fn set_state(&self, job: &mut JobRecord, state: JobState) -> Result<(), Error> {
        Ledger::set_state(self, job, state, Vec::new()).await
    }

    fn has_events(&self) -> bool {
        true
    }

    async fn store_events(&self, job: &JobRecord, events: Vec<Event>) -> Result<(), Error> {
        self.fire_all(events, Some(&job.account())).await.map(drop)
    }

    fn publish_event(&self, job: &JobRecord, event: Event) {
        self.publish(event, Some(&job.account()));
    }
}
