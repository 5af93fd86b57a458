//! After a restart of the controller: what was under way is asked for, and nothing is sent again.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use rocksalt_backends::store;
use rocksalt_core::call::is_harmless;
use rocksalt_core::record::{JobRecord, JobState, Kept, ReturnRecord};
use rocksalt_core::request::JobFilter;

use super::Runs;
use super::keeping::Keeping;
use super::live::Live;
use crate::slots::exclusive;
use crate::{Controller, own_events};

impl Runs {
    /// Takes up the jobs that this controller left unfinished when it went; how many. To be called before anything new
    /// is started, so that nothing overlaps with what still runs on the targets. They are settled in the background.
    pub async fn recover(self: &Arc<Runs>, controller: &Arc<Controller>) -> Result<usize, store::Error> {
        let filter = JobFilter { running: true, ..JobFilter::default() };
        let mut jobs = self.ledger.jobs(&filter).await?;
        // The oldest first: in this order they have their targets.
        jobs.reverse();
        let mut count = 0;
        for job in jobs {
            if job.owner != self.ledger.settings().owner || self.under_way().contains_key(&job.id) {
                continue;
            }
            let returns = self.ledger.returns(job.id).await?;
            let returned: HashSet<String> = returns.iter().map(|record| record.target.clone()).collect();
            // Of an earlier restart, say.
            let lost_before = |record: &ReturnRecord| match record.outcome {
                Kept::Lost(_) => true,
                Kept::Skipped(_) => job.state == JobState::Queued,
                _ => false,
            };
            let lost_before = returns.iter().any(lost_before);
            let live = Arc::new(Live::default());
            live.add(returns);
            self.under_way().insert(job.id, Arc::clone(&live));
            let (known, ask) = sort(&job, &returned);
            let lost = lost_before || !known.is_empty();
            let keeping = Keeping::new(self, controller, &job, &live);
            if exclusive(&job.function, &job.kwargs) {
                let mut tickets = keeping.tickets.lock().unwrap_or_else(PoisonError::into_inner);
                tickets.extend(ask.iter().map(|(id, _)| (id.clone(), self.slots.line_up(id, job.id))));
            }
            let runs = Arc::clone(self);
            tokio::spawn(async move {
                keeping.settle(known, ask, returned.len(), lost).await;
                runs.over(job.id, &live);
            });
            count += 1;
        }
        Ok(count)
    }
}

/// Who must be asked, and what it means if they never heard of it.
type Ask = Vec<(String, Option<Kept>)>;

/// What is known of a job's targets without asking, and who must be asked.
fn sort(job: &JobRecord, returned: &HashSet<String>) -> (Vec<(String, Kept)>, Ask) {
    let missing = job.targets.iter().filter(|id| !returned.contains(*id)).cloned();
    let lost = if own_events::tag(&job.function, job.id).is_some() {
        "the controller went down while it worked on it"
    } else if is_harmless(&job.function) {
        "the controller went down meanwhile, and targets keep nothing of functions that only look"
    } else {
        // It may have begun in the very moment.
        let waited = || Kept::Skipped("it waited in line when the controller went down, and was not begun".into());
        let otherwise = (job.state == JobState::Queued).then(waited);
        return (Vec::new(), missing.map(|id| (id, otherwise.clone())).collect());
    };
    (missing.map(|id| (id, Kept::Lost(lost.into()))).collect(), Vec::new())
}
