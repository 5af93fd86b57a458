//! After a restart of the controller: asks the targets for the results of unfinished jobs, and sends nothing again.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use rocksalt_backends::store;
use rocksalt_catalog::nature;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord, TargetOutcome};
use rocksalt_core::request::JobFilter;

use super::JobService;
use super::recorder::JobRecorder;
use super::running_job::RunningJob;
use crate::ledger::Ledger;
use crate::state_queue::exclusive;
use crate::{Controller, controller_events};

impl JobService<Ledger> {
    /// Resumes the jobs that this controller left unfinished, in the background. Returns their number. Call it before
    /// any job is started, so that none overlaps with calls that still run on the targets.
    pub async fn recover(self: &Arc<Self>, controller: &Arc<Controller>) -> Result<usize, store::Error> {
        let filter = JobFilter { running: true, ..JobFilter::default() };
        let mut jobs = self.records.jobs(&filter).await?;
        // The oldest first: jobs enter the queues of the targets in this order.
        jobs.reverse();
        let mut count = 0;
        for job in jobs {
            if job.owner != self.records.settings().owner || self.running_jobs().contains_key(&job.id) {
                continue;
            }
            let returns = self.records.returns(job.id).await?;
            let returned: HashSet<String> = returns.iter().map(|record| record.target.clone()).collect();
            // For example by an earlier restart.
            let lost_before = |record: &ReturnRecord| match record.outcome {
                TargetOutcome::Lost(_) => true,
                TargetOutcome::Skipped(_) => job.state == JobState::Queued,
                _ => false,
            };
            let lost_before = returns.iter().any(lost_before);
            let running = Arc::new(RunningJob::default());
            running.hold(returns);
            self.running_jobs().insert(job.id, Arc::clone(&running));
            let (known, ask) = sort(&job, &returned);
            let lost = lost_before || !known.is_empty();
            let recorder = JobRecorder::new(self, controller, &job, &running);
            if exclusive(&job.function, &job.kwargs) {
                let mut places = recorder.places.lock().unwrap_or_else(PoisonError::into_inner);
                places.extend(ask.iter().map(|(id, _)| (id.clone(), self.queues.line_up(id, job.id))));
            }
            let jobs = Arc::clone(self);
            tokio::spawn(async move {
                recorder.settle(known, ask, returned.len(), lost).await;
                jobs.finished(job.id, &running);
            });
            count += 1;
        }
        Ok(count)
    }
}

/// Targets to ask, with the outcome if the target does not know the job.
type Ask = Vec<(String, Option<TargetOutcome>)>;

/// The outcomes that are known without asking, and the targets to ask.
fn sort(job: &JobRecord, returned: &HashSet<String>) -> (Vec<(String, TargetOutcome)>, Ask) {
    let missing = job.targets.iter().filter(|id| !returned.contains(*id)).cloned();
    let lost = if controller_events::tag(&job.function, job.id).is_some() {
        "the controller went down while it worked on it"
    } else if nature(&job.function).repeatable {
        "the controller went down meanwhile, and targets keep nothing of functions that only look"
    } else {
        // A call of a running job may have begun just before the controller went down.
        let waited =
            || TargetOutcome::Skipped("it waited in line when the controller went down, and was not begun".into());
        let otherwise = (job.state == JobState::Queued).then(waited);
        return (Vec::new(), missing.map(|id| (id, otherwise.clone())).collect());
    };
    (missing.map(|id| (id, TargetOutcome::Lost(lost.into()))).collect(), Vec::new())
}
