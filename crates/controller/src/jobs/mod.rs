//! [`JobService`]: jobs that are kept: the record first, then the sending, each return stored before it counts.
//!
//! The way of a job: [`JobService::start`] stores its record; `work` sends it to its targets, each in its turn; `recorder`
//! stores what comes back and tells the targets so; where a link broke, `recall` asks the target later; after a restart
//! of the controller [`JobService::recover`] asks for all that was under way. Nothing is ever sent a second time.

mod dispatch;
mod event_answers;
mod recorder;
mod recovery;
mod result_query;
mod running_job;
mod selection;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_core::link::{Failure, Stage};
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord};
use rocksalt_core::request::RunRequest;
use rocksalt_core::target::{self, Kind};
use rocksalt_core::{Call, JobId, masking};

use crate::Controller;
use crate::execution::How;
use crate::job_watch::JobWatcher;
use crate::ledger::{Ledger, NewJob};
use crate::state_queue::{StateQueues, exclusive, queues};
use dispatch::{TurnPlan, Work};
use running_job::RunningJob;

pub struct JobService {
    pub ledger: Arc<Ledger>,
    settings: Settings,
    queues: StateQueues,
    running: Mutex<HashMap<JobId, Arc<RunningJob>>>,
    /// The last ones that ended: whoever waits for one finds its returns without reading the store.
    ended: Mutex<VecDeque<(JobId, Arc<RunningJob>)>>,
    /// The store's revisions at the last rounds of [`JobService::tidy`].
    history: Mutex<VecDeque<store::Revision>>,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a target that can't be reached is asked for the result of a job before the job is said to be lost.
    pub recall: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { recall: Duration::from_secs(600) }
    }
}

/// So many of those that ended are in memory.
const ENDED: usize = 128;

/// The store's history before the last so many rounds of [`JobService::tidy`] is thrown away.
const HISTORY: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Target(#[from] target::Error),
    #[error("batch '{0}' is neither a number nor a percentage, as in 10 or 25%")]
    Batch(String),
    #[error("there is a job {0} already")]
    Taken(JobId),
    /// What was checked is not what is meant now. Nothing is stored, nothing is sent.
    #[error("the target means more than was allowed a moment ago: {}", .0.join(", "))]
    Beyond(Vec<String>),
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl JobService {
    pub fn new(ledger: Arc<Ledger>) -> JobService {
        JobService::with(ledger, Settings::default())
    }

    pub fn with(ledger: Arc<Ledger>, settings: Settings) -> JobService {
        JobService {
            ledger,
            settings,
            queues: StateQueues::default(),
            running: Mutex::default(),
            ended: Mutex::default(),
            history: Mutex::default(),
        }
    }

    /// Starts a job, and answers once its record is stored. `None`: it means no target.
    /// `only` are the targets that were found allowed; it runs on no other.
    pub async fn start(
        self: &Arc<JobService>,
        controller: &Arc<Controller>,
        run: RunRequest,
        user: &str,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Option<JobRecord>, Error> {
        let target = selection::target(&run)?;
        let selection = controller.select(&target).await?;
        let mut entries = selection.entries;
        let mut unknown = selection.unknown;
        if let Some(only) = only {
            let beyond = entries.iter().map(|entry| &entry.id).filter(|id| !only.contains(*id));
            let beyond: Vec<String> = beyond.cloned().collect();
            if !beyond.is_empty() {
                return Err(Error::Beyond(beyond));
            }
            unknown.retain(|(entry, _)| only.contains(&entry.id));
        }
        if let Some(count) = run.subset {
            entries = selection::subset(entries, count);
        }
        let missing: Vec<String> = match target.kind {
            Kind::List => selection::names(&target.text).filter(|id| controller.roster.get(id).is_none()).collect(),
            _ => Vec::new(),
        };
        if entries.is_empty() && missing.is_empty() && unknown.is_empty() {
            return Ok(None);
        }
        let exclusive = exclusive(&run.function, &run.kwargs);
        let how = How {
            batch: run.batch.as_deref().map(|text| selection::batch(text, entries.len())).transpose()?,
            batch_wait: Duration::try_from_secs_f64(run.batch_wait).unwrap_or_default(),
            timeout: run.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            failhard: run.failhard,
            stream: run.stream,
            progress: exclusive,
            ..How::default()
        };
        let queue = run.queue || queues(&run.kwargs);
        let call = Call { args: run.args.clone(), kwargs: run.kwargs.clone(), ..Call::new(run.function.as_str()) };
        let call = if exclusive && queue { call.kwarg("queue", true) } else { call };
        let id = run.job.or_else(|| exclusive.then(|| self.ledger.new_id()));
        // What is kept and told has no secrets in it (rule R13).
        let (args, kwargs) = masking::mask(&run.function, &run.args, &run.kwargs);
        let new = NewJob {
            id,
            function: run.function,
            args,
            kwargs,
            target: run.target,
            target_kind: target.kind.name().to_owned(),
            targets: entries
                .iter()
                .chain(unknown.iter().map(|(entry, _)| entry))
                .map(|entry| entry.id.clone())
                .collect(),
            missing,
            user: user.to_owned(),
            metadata: run.metadata,
        };
        let mut turns = match id.filter(|_| exclusive) {
            Some(id) => TurnPlan::ask(&self.queues, entries, id, queue),
            None => TurnPlan::free(entries),
        };
        turns.unreached = unknown.into_iter().map(|(entry, failure)| (entry.id, not_asked(failure))).collect();
        let state = if turns.all_wait() { JobState::Queued } else { JobState::Running };
        let Some(job) = self.ledger.begin(new, state).await? else {
            return Err(Error::Taken(id.unwrap_or_else(|| JobId::at(0))));
        };
        let live = Arc::new(RunningJob::default());
        self.under_way().insert(job.id, Arc::clone(&live));
        let work = Work { job: job.clone(), call, how, turns, live };
        tokio::spawn(dispatch::dispatch(Arc::clone(self), Arc::clone(controller), work));
        Ok(Some(job))
    }

    /// Waits until a job has ended, but not longer than this; what it returned until then.
    pub async fn wait(&self, job: JobId, limit: Option<Duration>) -> Result<Vec<ReturnRecord>, store::Error> {
        if let Some(live) = self.live(job) {
            match limit {
                Some(limit) => drop(tokio::time::timeout(limit, live.ended()).await),
                None => live.ended().await,
            }
            if let Some(returns) = live.returns() {
                return Ok(returns);
            }
        }
        self.ledger.returns(job).await
    }

    /// What a job does, as it does it, whoever runs it; `None` if there is no such job.
    pub async fn watch(&self, job: JobId) -> Result<Option<JobWatcher>, store::Error> {
        let live = self.live(job);
        if live.is_none() && self.ledger.job(job).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(JobWatcher::new(Arc::clone(&self.ledger), job, live.map(|live| Arc::clone(&live.hub)))))
    }

    /// Stops a job: what it started gets SIGTERM, or SIGKILL at once; false if it doesn't run here.
    ///
    /// Its end comes later: [`JobService::wait`] for it.
    pub fn cancel(&self, job: JobId, kill: bool) -> bool {
        let Some(live) = self.under_way().get(&job).cloned() else { return false };
        if kill {
            live.cancel_signal.kill();
        } else {
            live.cancel_signal.stop();
        }
        true
    }

    /// The jobs that run here now, those that wait in line among them.
    pub fn running(&self) -> Vec<JobId> {
        self.under_way().keys().copied().collect()
    }

    /// Waits until nothing runs any more, but not longer than this; what still does. It goes on without us: the targets
    /// keep the results, and the next start asks for them.
    pub async fn drain(&self, limit: Duration) -> Vec<JobId> {
        let all: Vec<Arc<RunningJob>> = self.under_way().values().cloned().collect();
        let ended = async {
            for live in all {
                live.ended().await;
            }
        };
        let _ = tokio::time::timeout(limit, ended).await;
        self.running()
    }

    /// Forgets what is old, and the store's own history; how many jobs. To be called every minute or so.
    pub async fn tidy(&self) -> Result<usize, store::Error> {
        let count = self.ledger.expire().await?;
        let store = self.ledger.store();
        let now = store.range(&store::KeyRange::prefix("job/").limit(1).keys_only()).await?.revision;
        let old = {
            let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.push_back(now);
            if history.len() > HISTORY { history.pop_front() } else { None }
        };
        if let Some(old) = old {
            store.compact(old).await?;
        }
        Ok(count)
    }

    /// Calls [`JobService::tidy`] every minute, as long as anybody holds `self` besides.
    pub fn tend(self: &Arc<JobService>) -> tokio::task::JoinHandle<()> {
        let jobs = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                let Some(jobs) = jobs.upgrade() else { return };
                // What can't be forgotten now is the next time.
                let _ = jobs.tidy().await;
            }
        })
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<JobId, Arc<RunningJob>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, job: JobId) -> Option<Arc<RunningJob>> {
        if let Some(live) = self.under_way().get(&job) {
            return Some(Arc::clone(live));
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.iter().rev().find(|(id, _)| *id == job).map(|(_, live)| Arc::clone(live))
    }

    /// A job is over, and stored.
    fn over(&self, job: JobId, live: &Arc<RunningJob>) {
        if live.is_small() {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push_back((job, Arc::clone(live)));
            if ended.len() > ENDED {
                ended.pop_front();
            }
        }
        self.under_way().remove(&job);
        live.end();
    }
}

/// A target may or may not be meant, and can't be asked.
fn not_asked(failure: Failure) -> Failure {
    // Nothing was begun there, so nobody need be asked what became of it.
    let stage = if failure.stage == Stage::Link { Stage::Agent } else { failure.stage };
    Failure { stage, text: format!("its grains are not known, and it can't be asked: {}", failure.text), ..failure }
}
