//! [`JobService`]: starts every job, in the daemon and in commands that run without one.
//!
//! [`JobService::start`] selects the targets and stores the job's record; `dispatch` sends the call to each target in
//! its turn; `recorder` stores the results and confirms that to the targets. In the daemon, `result_query` asks a
//! target again after its link broke, and [`JobService::recover`] asks all targets of unfinished jobs after a restart.
//! Nothing is ever sent twice.

mod dispatch;
mod recorder;
mod recovery;
mod result_query;
mod running_job;
mod selection;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_core::job_options::OptionError;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::{Account, JobRecord, JobState, ReturnRecord};
use rocksalt_core::request::RunRequest;
use rocksalt_core::target;
use rocksalt_core::{Call, JobId, Map, masking};
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::Controller;
use crate::execution::{AnswersFor, ExecutionOptions};
use crate::job_records::JobRecords;
use crate::job_watch::JobWatcher;
use crate::ledger::{Ledger, NewJob};
use crate::state_queue::{StateQueues, exclusive, queues};
use dispatch::{Dispatch, TurnPlan};
use running_job::RunningJob;
pub use selection::{SelectedTargets, select_targets, target};

pub struct JobService<R = Ledger> {
    pub records: Arc<R>,
    settings: Settings,
    queues: StateQueues,
    running: Mutex<HashMap<JobId, Arc<RunningJob>>>,
    /// The last jobs that ended, so that waiting for one need not read its returns from the store.
    ended: Mutex<VecDeque<(JobId, Arc<RunningJob>)>>,
    /// The store's revisions at the last rounds of [`JobService::tidy`].
    history: Mutex<VecDeque<store::Revision>>,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// How long an unreachable target is asked for the result of a job before the result counts as lost.
    ///
    /// Without it targets keep no results: a call ends with the process that started it.
    pub recall: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { recall: Some(Duration::from_secs(600)) }
    }
}

/// What a job needs besides its request.
pub struct StartOptions<'a> {
    /// Who starts the job.
    pub account: &'a Account,
    /// Replaces the controller's own answers to requests of the targets' functions.
    pub answers: Option<Arc<AnswersFor>>,
    /// Receives every update of the job. Such a job can't be watched by others.
    pub observer: Option<mpsc::UnboundedSender<JobUpdate>>,
    /// Don't request the progress of runs of states: nobody reads it.
    pub no_progress: bool,
    /// Replaces the target's own grains.
    pub grains: Option<Map>,
}

impl<'a> StartOptions<'a> {
    pub fn of(account: &'a Account) -> StartOptions<'a> {
        StartOptions { account, answers: None, observer: None, no_progress: false, grains: None }
    }
}

/// This many jobs that ended stay in memory.
const ENDED: usize = 128;

/// The store's history before this many rounds of [`JobService::tidy`] is removed.
const HISTORY: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Target(#[from] target::Error),
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("there is a job {0} already")]
    Taken(JobId),
    /// The expression now selects targets that were not allowed when it was checked. Nothing is stored, nothing is
    /// sent.
    #[error("the target means more than was allowed a moment ago: {}", .0.join(", "))]
    Beyond(Vec<String>),
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl<R: JobRecords> JobService<R> {
    pub fn new(records: Arc<R>) -> JobService<R> {
        JobService::with(records, Settings::default())
    }

    pub fn with(records: Arc<R>, settings: Settings) -> JobService<R> {
        JobService {
            records,
            settings,
            queues: StateQueues::default(),
            running: Mutex::default(),
            ended: Mutex::default(),
            history: Mutex::default(),
        }
    }

    /// Starts a job, and returns when its record is stored. `None` if no target is selected.
    ///
    /// With `allowed` the job is refused if it selects any other target.
    pub async fn start(
        self: &Arc<Self>,
        controller: &Arc<Controller>,
        request: RunRequest,
        account: &Account,
        allowed: Option<&BTreeSet<String>>,
    ) -> Result<Option<JobRecord>, Error> {
        let selected = select_targets(controller, &request, allowed).await?;
        if selected.is_empty() && selected.missing.is_empty() {
            return Ok(None);
        }
        let options = StartOptions::of(account);
        self.start_selected(controller, request, selected, options).await.map(Some)
    }

    /// Starts a job on targets that are selected already.
    pub async fn start_selected(
        self: &Arc<Self>,
        controller: &Arc<Controller>,
        request: RunRequest,
        mut selected: SelectedTargets,
        start: StartOptions<'_>,
    ) -> Result<JobRecord, Error> {
        let options = execution_options(&request, selected.entries.len(), &start)?;
        let exclusive = exclusive(&request.function, &request.kwargs);
        let queue = request.options.queue || queues(&request.kwargs);
        let mut call = Call::new(request.function.as_str());
        (call.args, call.kwargs, call.grains) = (request.args.clone(), request.kwargs.clone(), start.grains);
        if exclusive && queue {
            // The target's own lock orders runs of different controllers.
            call.kwargs.insert("queue", true);
        }
        // The one place that decides whether the controller answers in place of its targets.
        let answer = (controller.local_answer)(&call);
        let new = new_job(&request, &selected, start.account);
        let (job, turns) = loop {
            let id = request.job.or_else(|| exclusive.then(|| self.records.new_id()));
            let mut turns = match (&answer, id.filter(|_| exclusive)) {
                (Some(result), _) => TurnPlan::answered(&selected.entries, result),
                (None, Some(id)) => {
                    TurnPlan::take_places(&self.queues, &selected.entries, id, &request.function, queue)
                }
                // An id that the records choose is always free, so this arm runs only once.
                (None, None) => TurnPlan::all_ready(std::mem::take(&mut selected.entries)),
            };
            turns.add_unreached(&selected.unknown);
            let state = if turns.all_wait() { JobState::Queued } else { JobState::Running };
            match (self.records.begin(NewJob { id, ..new.clone() }, state).await?, request.job) {
                (Some(job), _) => break (job, turns),
                (None, Some(id)) => return Err(Error::Taken(id)),
                // Another process took the same id in the same microsecond: try the next one.
                (None, None) => {}
            }
        };
        let running = Arc::new(RunningJob::observed_by(start.observer));
        self.running_jobs().insert(job.id, Arc::clone(&running));
        let work = Dispatch { job: job.clone(), call, options, turns, answers: start.answers, running };
        // In the current span, so that log lines of the job name the request that started it.
        tokio::spawn(dispatch::dispatch(Arc::clone(self), Arc::clone(controller), work).in_current_span());
        Ok(job)
    }

    /// Cancels a job: its processes get SIGTERM, or SIGKILL with `kill`. Returns false if the job doesn't run here.
    ///
    /// Returns before the job has ended; [`JobService::wait`] waits for that.
    pub fn cancel(&self, job: JobId, kill: bool) -> bool {
        let Some(running) = self.running_jobs().get(&job).cloned() else { return false };
        if kill {
            running.cancel_signal.kill();
        } else {
            running.cancel_signal.cancel();
        }
        true
    }

    /// The jobs that run here now, including those that wait in a queue.
    pub fn running(&self) -> Vec<JobId> {
        self.running_jobs().keys().copied().collect()
    }

    fn running_jobs(&self) -> MutexGuard<'_, HashMap<JobId, Arc<RunningJob>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a job from the running ones, once its end is stored.
    fn finished(&self, job: JobId, running: &Arc<RunningJob>) {
        if running.is_small() {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push_back((job, Arc::clone(running)));
            if ended.len() > ENDED {
                ended.pop_front();
            }
        }
        self.running_jobs().remove(&job);
        running.end();
    }
}

fn execution_options(
    request: &RunRequest,
    targets: usize,
    start: &StartOptions<'_>,
) -> Result<ExecutionOptions, OptionError> {
    let options = &request.options;
    Ok(ExecutionOptions {
        batch: options.batch.map(|batch| batch.size(targets)),
        batch_wait: options.batch_wait()?,
        timeout: options.timeout()?,
        failhard: options.failhard,
        wipe: options.wipe,
        stream: options.stream,
        progress: !start.no_progress && rocksalt_catalog::nature(&request.function).whole_machine,
        receipts: None,
    })
}

/// The record of a new job. Secrets are masked here, so that none are stored or published (docs/security-rules.md#r13).
fn new_job(request: &RunRequest, selected: &SelectedTargets, account: &Account) -> NewJob {
    let (args, kwargs) = rocksalt_catalog::mask(&request.function, &request.args, &request.kwargs);
    let unknown = selected.unknown.iter().map(|(entry, _)| entry);
    NewJob {
        id: None,
        function: request.function.clone(),
        args,
        kwargs,
        target: request.target.clone(),
        target_kind: selected.target.kind.name().to_owned(),
        delimiter: request.delimiter.clone(),
        targets: selected.entries.iter().chain(unknown).map(|entry| entry.id.clone()).collect(),
        missing: selected.missing.clone(),
        account: account.clone(),
        metadata: masking::masked(&request.metadata),
        options: request.options.clone(),
    }
}

impl JobService<Ledger> {
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.records
    }

    /// Waits until a job has ended, but not longer than `limit`. Returns the returns so far.
    pub async fn wait(&self, job: JobId, limit: Option<Duration>) -> Result<Vec<ReturnRecord>, store::Error> {
        if let Some(running) = self.find_in_memory(job) {
            match limit {
                Some(limit) => drop(tokio::time::timeout(limit, running.ended()).await),
                None => running.ended().await,
            }
            if let Some(returns) = running.returns() {
                return Ok(returns);
            }
        }
        self.records.returns(job).await
    }

    /// The updates of a job, no matter which controller runs it; `None` if there is no such job.
    pub async fn watch(&self, job: JobId) -> Result<Option<JobWatcher>, store::Error> {
        let running = self.find_in_memory(job);
        if running.is_none() && self.records.job(job).await?.is_none() {
            return Ok(None);
        }
        let update_log = running.map(|running| Arc::clone(&running.update_log));
        Ok(Some(JobWatcher::new(Arc::clone(&self.records), job, update_log)))
    }

    /// Waits until all jobs have ended, but not longer than `limit`. Returns the jobs that still run: the targets keep
    /// their results, and the next start asks for them.
    pub async fn drain(&self, limit: Duration) -> Vec<JobId> {
        let all: Vec<Arc<RunningJob>> = self.running_jobs().values().cloned().collect();
        let ended = async {
            for running in all {
                running.ended().await;
            }
        };
        let _ = tokio::time::timeout(limit, ended).await;
        self.running()
    }

    /// Removes old jobs and events, and the store's own history. Returns the number of jobs. Call it about once a
    /// minute.
    pub async fn tidy(&self) -> Result<usize, store::Error> {
        let count = self.records.expire().await?;
        let store = self.records.store();
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

    /// Calls [`JobService::tidy`] every minute, as long as there is another reference to `self`.
    pub fn tidy_regularly(self: &Arc<Self>) -> tokio::task::JoinHandle<()> {
        let jobs = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                let Some(jobs) = jobs.upgrade() else { return };
                // A failure is ignored: the next round removes the rest.
                let _ = jobs.tidy().await;
            }
        })
    }

    fn find_in_memory(&self, job: JobId) -> Option<Arc<RunningJob>> {
        if let Some(running) = self.running_jobs().get(&job) {
            return Some(Arc::clone(running));
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.iter().rev().find(|(id, _)| *id == job).map(|(_, running)| Arc::clone(running))
    }
}
