//! [`Runs`]: jobs that are kept: the record first, then the sending, each return stored before it counts.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_core::call::{Problem, ProblemKind};
use rocksalt_core::frame::Stream;
use rocksalt_core::news::JobNews;
use rocksalt_core::record::{JobRecord, JobState, ReturnRecord};
use rocksalt_core::request::Run;
use rocksalt_core::roster::Entry;
use rocksalt_core::target::{self, Kind};
use rocksalt_core::{Call, Event, JobId, Value, json, masking};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::Controller;
use crate::job::{How, Job, Outcome, Stopper, Update};
use crate::job_events;
use crate::ledger::{Ledger, NewJob};
use crate::select::Target;
use crate::slots::{Slots, Taken, exclusive};
use crate::watching::{Hub, Watcher};

pub struct Runs {
    pub ledger: Arc<Ledger>,
    slots: Slots,
    running: Mutex<HashMap<JobId, Running>>,
}

#[derive(Clone)]
struct Running {
    stopper: Stopper,
    hub: Arc<Hub>,
    ended: watch::Receiver<bool>,
}

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

impl Runs {
    pub fn new(ledger: Arc<Ledger>) -> Runs {
        Runs { ledger, slots: Slots::default(), running: Mutex::default() }
    }

    /// Starts a job, and answers once its record is stored. `None`: it means no target.
    /// `only` are the targets that were found allowed; it runs on no other.
    pub async fn start(
        self: &Arc<Runs>,
        controller: &Arc<Controller>,
        run: Run,
        user: &str,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Option<JobRecord>, Error> {
        let target = wanted(&run)?;
        let selection = controller.select(&target).await?;
        if let Some(only) = only {
            let beyond = selection.entries.iter().map(|entry| &entry.id).filter(|id| !only.contains(*id));
            let beyond: Vec<String> = beyond.cloned().collect();
            if !beyond.is_empty() {
                return Err(Error::Beyond(beyond));
            }
        }
        let mut entries = selection.entries;
        if let Some(count) = run.subset {
            entries = subset(entries, count);
        }
        let missing: Vec<String> = match target.kind {
            Kind::List => {
                target.text.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let missing: Vec<String> = missing.into_iter().filter(|id| controller.roster.get(id).is_none()).collect();
        if entries.is_empty() && missing.is_empty() {
            return Ok(None);
        }
        let how = How {
            batch: run.batch.as_deref().map(|text| batch(text, entries.len())).transpose()?,
            batch_wait: Duration::try_from_secs_f64(run.batch_wait).unwrap_or_default(),
            timeout: run.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            failhard: run.failhard,
            stream: run.stream,
            progress: exclusive(&run.function),
            ..How::default()
        };
        let call = Call { args: run.args.clone(), kwargs: run.kwargs.clone(), ..Call::new(run.function.as_str()) };
        // What is kept and told has no secrets in it (rule R13).
        let (args, kwargs) = masking::mask(&run.function, &run.args, &run.kwargs);
        let new = NewJob {
            id: run.job,
            function: run.function,
            args,
            kwargs,
            target: run.target,
            target_kind: target.kind.name().to_owned(),
            targets: entries.iter().map(|entry| entry.id.clone()).collect(),
            missing,
            user: user.to_owned(),
            metadata: run.metadata,
        };
        let Some(job) = self.ledger.begin(new, JobState::Running).await? else {
            return Err(Error::Taken(run.job.unwrap_or_else(|| JobId::at(0))));
        };
        let (ended, heard) = watch::channel(false);
        let stopper = Stopper::default();
        let hub = Arc::new(Hub::default());
        let running = Running { stopper: stopper.clone(), hub: Arc::clone(&hub), ended: heard };
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(job.id, running);
        let (runs, controller) = (Arc::clone(self), Arc::clone(controller));
        let work = Work { job: job.clone(), call, entries, how, queue: run.queue, stopper, hub };
        tokio::spawn(async move {
            runs.work(&controller, work).await;
            ended.send_replace(true);
        });
        Ok(Some(job))
    }

    /// Waits until a job has ended, but not longer than this; what it returned until then.
    pub async fn wait(&self, job: JobId, limit: Option<Duration>) -> Result<Vec<ReturnRecord>, store::Error> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned();
        if let Some(mut running) = running {
            let ended = running.ended.wait_for(|ended| *ended);
            match limit {
                Some(limit) => drop(tokio::time::timeout(limit, ended).await),
                None => drop(ended.await),
            }
        }
        self.ledger.returns(job).await
    }

    /// What a job does, as it does it, whoever runs it; `None` if there is no such job.
    pub async fn watch(&self, job: JobId) -> Result<Option<Watcher>, store::Error> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned();
        if running.is_none() && self.ledger.job(job).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(Watcher::new(Arc::clone(&self.ledger), job, running.map(|running| running.hub))))
    }

    /// Stops a job; false if it doesn't run here.
    pub fn cancel(&self, job: JobId) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned();
        running.map(|running| running.stopper.stop()).is_some()
    }

    /// The jobs that run here now.
    pub fn running(&self) -> Vec<JobId> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    async fn work(self: &Arc<Runs>, controller: &Arc<Controller>, work: Work) {
        let Work { mut job, call, entries, how, queue, stopper, hub } = work;
        let (updates, news) = mpsc::unbounded_channel();
        let storing = tokio::spawn(store(Arc::clone(&self.ledger), job.clone(), Arc::clone(&hub), news));
        let part =
            Part { controller: Arc::clone(controller), id: job.id, call, how, updates, stopper: stopper.clone() };
        if exclusive(&job.function) {
            self.one_by_one(&job, entries, queue, &part).await;
        } else {
            part.run(entries).await;
        }
        drop(part);
        let stored = storing.await.unwrap_or(false);
        let state = match (stored, stopper.is_stopped()) {
            (false, _) => JobState::Lost,
            (true, true) => JobState::Cancelled,
            (true, false) => JobState::Done,
        };
        // A store that is away keeps the record as it was: the next start of the daemon finds it and settles it.
        if self.ledger.set_state(&mut job, state, Vec::new()).await.is_ok() {
            hub.tell(JobNews::Ended(job.clone()));
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id);
    }

    /// Each target as soon as it is free; where nobody waits in line, one that isn't free is refused.
    async fn one_by_one(self: &Arc<Runs>, job: &JobRecord, entries: Vec<Entry>, queue: bool, part: &Part) {
        let (mut free, mut held, mut waiting): (Vec<Entry>, Vec<Taken>, JoinSet<()>) = Default::default();
        for entry in entries {
            match self.slots.take(&entry.id, job.id) {
                Ok(taken) => {
                    free.push(entry);
                    held.push(taken);
                }
                Err(_) if queue => {
                    let (runs, part) = (Arc::clone(self), part.clone());
                    waiting.spawn(async move {
                        let _taken = runs.slots.wait(&entry.id, part.id).await;
                        part.run(vec![entry]).await;
                    });
                }
                Err(holder) => {
                    let outcome = Outcome::Returned(busy(&job.function, holder).into());
                    let _ = part.updates.send(Update::Done { id: entry.id, outcome });
                }
            }
        }
        if !free.is_empty() {
            part.run(free).await;
        }
        drop(held);
        while waiting.join_next().await.is_some() {}
    }
}

/// Runs a job on some of its targets.
#[derive(Clone)]
struct Part {
    controller: Arc<Controller>,
    id: JobId,
    call: Call,
    how: How,
    updates: mpsc::UnboundedSender<Update>,
    stopper: Stopper,
}

impl Part {
    async fn run(&self, targets: Vec<Entry>) {
        let job = Job { id: self.id, call: self.call.clone(), targets, how: self.how.clone() };
        self.controller.run(job, None, self.updates.clone(), self.stopper.clone()).await;
    }
}

struct Work {
    job: JobRecord,
    call: Call,
    entries: Vec<Entry>,
    how: How,
    queue: bool,
    stopper: Stopper,
    hub: Arc<Hub>,
}

/// Stores what comes of a job, in the order in which it comes; false if something could not be stored.
async fn store(ledger: Arc<Ledger>, job: JobRecord, hub: Arc<Hub>, mut news: mpsc::UnboundedReceiver<Update>) -> bool {
    let mut all = true;
    while let Some(update) = news.recv().await {
        match update {
            Update::Begun { id } => hub.tell(JobNews::Begun { target: id }),
            Update::Note { id, text } => hub.tell(JobNews::Note { target: id, text }),
            Update::Output { id, stream: Stream::Progress, bytes } => {
                if let Some(event) = step(&job, &id, &bytes) {
                    ledger.tell(event);
                }
                hub.tell(JobNews::Progress { target: id, bytes });
            }
            Update::Output { id, stream, bytes } => hub.tell(JobNews::Output { target: id, stream, bytes }),
            Update::Event { id, event } => {
                all &= ledger.fire(from_target(&id, event.clone())).await.is_ok();
                hub.tell(JobNews::Event { target: id, event });
            }
            Update::Done { id, outcome } => match ledger.returned(&job, &id, outcome.kept()).await {
                Ok(record) => hub.tell(JobNews::Done(record)),
                Err(_) => all = false,
            },
        }
    }
    all
}

/// An event of a target carries the target's name, whatever it says itself (rule R3).
fn from_target(id: &str, event: Event) -> Event {
    let mut data = rocksalt_core::Map::new();
    data.insert("id", id);
    data.insert("tag", event.tag.as_str());
    data.insert("cmd", "_minion_event");
    data.insert("data", event.data);
    Event { tag: event.tag, data }
}

/// What a target says of a step that is done, as Salt's event.
fn step(job: &JobRecord, id: &str, bytes: &[u8]) -> Option<Event> {
    let news = json::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    let number = |key: &str| news.walk(key, ":").and_then(Value::as_i64);
    let result = news.walk("ret", ":")?.clone();
    Some(job_events::progress(job, id, number("number").unwrap_or(0), result, number("total").unwrap_or(0)))
}

fn busy(function: &str, holder: Option<JobId>) -> Problem {
    let by = holder.map(|job| format!(" with jid {job}")).unwrap_or_default();
    Problem::new(ProblemKind::Refused, format!("The function \"{function}\" is running here already{by}"))
        .hint("wait for it, or give queue=True")
}

fn wanted(run: &Run) -> Result<Target, Error> {
    let kind = match run.target_kind.as_str() {
        "" => Kind::Glob,
        name => Kind::from_name(name)?,
    };
    let delimiter = run.delimiter.clone().unwrap_or_else(|| ":".into());
    Ok(Target { kind, text: run.target.clone(), delimiter })
}

fn batch(text: &str, targets: usize) -> Result<usize, Error> {
    let fault = || Error::Batch(text.to_owned());
    let count = match text.trim().strip_suffix('%') {
        Some(part) => {
            let part: usize = part.trim().parse().map_err(|_| fault())?;
            targets * part.min(100) / 100
        }
        None => text.trim().parse().map_err(|_| fault())?,
    };
    Ok(count.max(1))
}

/// Some of them, others each time.
fn subset(mut entries: Vec<Entry>, count: usize) -> Vec<Entry> {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    entries.sort_by_cached_key(|entry| random.hash_one(&entry.id));
    entries.truncate(count);
    entries
}
