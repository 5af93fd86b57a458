//! [`UpdateLog`] and [`JobWatcher`]: the updates of a job, for those who watch it.
//!
//! The log holds a bounded number of updates. A watcher that starts late or is slow takes the returns from the ledger
//! and continues with the rest of the log: it may miss some of a command's output, but never a return.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocksalt_backends::store::Error;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::{JobRecord, TargetOutcome};
use rocksalt_core::{JobId, Value};
use tokio::sync::watch;

use crate::ledger::Ledger;

/// The log of a job holds at most this many updates, and this many bytes of their content.
const MAX_UPDATES: usize = 4096;
const MAX_BYTES: usize = 1 << 20;

/// How often the ledger is read for a job that another controller runs.
const POLL: Duration = Duration::from_millis(500);

pub struct UpdateLog {
    /// Random, so that marks of an earlier process of the daemon are not valid.
    id: u64,
    buffer: Mutex<Buffer>,
    /// Notifies the watchers of new updates.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Buffer {
    /// How many updates were dropped.
    dropped: u64,
    updates: VecDeque<(Arc<JobUpdate>, usize)>,
    bytes: usize,
    /// Targets whose calls have begun and not ended.
    begun: Vec<String>,
}

impl Default for UpdateLog {
    fn default() -> UpdateLog {
        use std::hash::{BuildHasher, RandomState};
        UpdateLog { id: RandomState::new().hash_one(0), buffer: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl UpdateLog {
    /// Adds an update. A return is pushed once it is stored, `Ended` once the record says so.
    pub fn push(&self, update: JobUpdate) {
        let mut buffer = self.buffer();
        match &update {
            JobUpdate::Begun { target } => buffer.begun.push(target.clone()),
            JobUpdate::Done(record) => buffer.begun.retain(|id| *id != record.target),
            _ => {}
        }
        let size = size(&update);
        buffer.bytes += size;
        buffer.updates.push_back((Arc::new(update), size));
        while buffer.updates.len() > 1 && (buffer.updates.len() > MAX_UPDATES || buffer.bytes > MAX_BYTES) {
            if let Some((_, size)) = buffer.updates.pop_front() {
                buffer.bytes -= size;
                buffer.dropped += 1;
            }
        }
        drop(buffer);
        self.count.send_modify(|count| *count += 1);
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct JobWatcher {
    ledger: Arc<Ledger>,
    job: JobId,
    position: Option<LogPosition>,
    /// Updates to return before reading on.
    page: VecDeque<JobUpdate>,
    /// Targets whose return was passed on already.
    given: HashSet<String>,
    ended: bool,
}

struct LogPosition {
    log: Arc<UpdateLog>,
    count: watch::Receiver<u64>,
    next: u64,
}

impl JobWatcher {
    /// Watches a job; `log` is its log if it runs in this process.
    pub fn new(ledger: Arc<Ledger>, job: JobId, log: Option<Arc<UpdateLog>>) -> JobWatcher {
        let position = log.map(|log| LogPosition { count: log.count.subscribe(), log, next: 0 });
        JobWatcher { ledger, job, position, page: VecDeque::new(), given: HashSet::new(), ended: false }
    }

    /// The current position, for [`JobWatcher::resume`]; `None` if only the ledger is read.
    pub fn mark(&self) -> Option<String> {
        let position = self.position.as_ref().filter(|_| self.page.is_empty())?;
        Some(format!("{:x}-{}", position.log.id, position.next))
    }

    /// Continues from a mark if it belongs to this log, otherwise from the beginning.
    pub fn resume(&mut self, mark: &str) {
        let Some(position) = &mut self.position else { return };
        let Some((log, next)) = mark.split_once('-') else { return };
        let last = *position.count.borrow();
        if let (Ok(log), Ok(next)) = (u64::from_str_radix(log, 16), next.parse::<u64>())
            && log == position.log.id
            && next <= last
        {
            position.next = next;
        }
    }

    /// Waits for the next update. `None` once the job has ended.
    pub async fn next(&mut self) -> Result<Option<JobUpdate>, Error> {
        loop {
            if let Some(update) = self.page.pop_front() {
                if self.is_new(&update) {
                    return Ok(Some(update));
                }
                continue;
            }
            if self.ended {
                return Ok(None);
            }
            let Some(position) = &mut self.position else {
                self.read_ledger().await?;
                continue;
            };
            match position.look() {
                NextUpdate::Update(update) => {
                    // Cloned for each watcher, which costs little beside sending it.
                    self.page.push_back(JobUpdate::clone(&update));
                }
                NextUpdate::Behind { begun } => {
                    self.page.extend(self.ledger.returns(self.job).await?.into_iter().map(JobUpdate::Done));
                    self.page.extend(begun.into_iter().map(|target| JobUpdate::Begun { target }));
                }
                NextUpdate::Nothing => {
                    if position.count.changed().await.is_err() {
                        self.position = None;
                    }
                }
            }
        }
    }

    fn is_new(&mut self, update: &JobUpdate) -> bool {
        match update {
            JobUpdate::Done(record) => self.given.insert(record.target.clone()),
            JobUpdate::Ended(_) => {
                self.ended = true;
                true
            }
            _ => true,
        }
    }

    /// Reads the state of a job that has ended, or that another controller runs.
    async fn read_ledger(&mut self) -> Result<(), Error> {
        // The record is read first: if it has ended, all of its returns are stored.
        let Some(job) = self.ledger.job(self.job).await? else {
            self.ended = true;
            return Ok(());
        };
        let returns = self.ledger.returns(self.job).await?;
        let fresh: Vec<_> = returns.into_iter().filter(|record| !self.given.contains(&record.target)).collect();
        let nothing = fresh.is_empty();
        self.page.extend(fresh.into_iter().map(JobUpdate::Done));
        if job.state.ended() {
            self.page.push_back(JobUpdate::Ended(Box::new(job)));
        } else if nothing {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The job's current record.
    pub async fn record(&self) -> Result<Option<JobRecord>, Error> {
        self.ledger.job(self.job).await
    }
}

enum NextUpdate {
    Update(Arc<JobUpdate>),
    /// Some updates were dropped before they were read.
    Behind {
        begun: Vec<String>,
    },
    Nothing,
}

impl LogPosition {
    fn look(&mut self) -> NextUpdate {
        // Marked as seen before reading: a later update wakes the watcher.
        self.count.borrow_and_update();
        let buffer = self.log.buffer();
        if self.next < buffer.dropped {
            self.next = buffer.dropped;
            return NextUpdate::Behind { begun: buffer.begun.clone() };
        }
        match buffer.updates.get((self.next - buffer.dropped) as usize) {
            Some((update, _)) => {
                self.next += 1;
                NextUpdate::Update(Arc::clone(update))
            }
            None => NextUpdate::Nothing,
        }
    }
}

/// The approximate memory of an update.
fn size(update: &JobUpdate) -> usize {
    match update {
        JobUpdate::Output { bytes, .. } | JobUpdate::Progress { bytes, .. } => bytes.len(),
        JobUpdate::Done(record) => match &record.outcome {
            TargetOutcome::Returned(result) => weight(&result.value),
            _ => 0,
        },
        JobUpdate::Event { event, .. } => event.data.iter().map(|(key, value)| weight(key) + weight(value)).sum(),
        JobUpdate::Note { text, .. } => text.len(),
        JobUpdate::Warning { text, hint, .. } => text.len() + hint.as_ref().map_or(0, String::len),
        JobUpdate::Begun { .. } | JobUpdate::Ended(_) => 0,
    }
}

fn weight(value: &Value) -> usize {
    32 + match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.iter().map(weight).sum(),
        Value::Map(map) => map.iter().map(|(key, value)| weight(key) + weight(value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_backends::store;
    use rocksalt_core::Return;
    use rocksalt_core::frame::Stream;
    use rocksalt_core::record::JobState;

    use super::*;
    use crate::ledger::{NewJob, Settings};

    async fn ledger() -> Arc<Ledger> {
        let settings = Settings {
            now: || 1_769_851_800_123_456,
            owner: "here".into(),
            keep_jobs_seconds: 1000,
            keep_events_seconds: 1000,
            largest_return: 1 << 20,
        };
        let store = store::open("memory", &store::Settings::default()).await.expect("a store in memory");
        Arc::new(Ledger::open(store, settings).await.expect("it is empty"))
    }

    fn fine() -> TargetOutcome {
        TargetOutcome::Returned(Return { value: true.into(), retcode: 0, problem: None })
    }

    async fn all(mut watcher: JobWatcher) -> Vec<String> {
        let mut heard = Vec::new();
        while let Some(update) = watcher.next().await.expect("the store is there") {
            heard.push(match update {
                JobUpdate::Begun { target } => format!("begun {target}"),
                JobUpdate::Output { target, .. } => format!("output {target}"),
                JobUpdate::Done(record) => format!("done {}", record.target),
                JobUpdate::Ended(job) => format!("ended {}", job.state.name()),
                other => format!("{other:?}"),
            });
        }
        heard
    }

    #[tokio::test]
    async fn nothing_is_lost_or_told_twice_whenever_one_begins_to_watch() {
        let ledger = ledger().await;
        let targets = ["a", "b"].map(str::to_owned).to_vec();
        let new = NewJob { function: "test.ping".into(), targets, ..NewJob::default() };
        let mut job = ledger.begin(new, JobState::Running).await.expect("stored").expect("a new id");
        let log = Arc::new(UpdateLog::default());
        let early = JobWatcher::new(Arc::clone(&ledger), job.id, Some(Arc::clone(&log)));
        log.push(JobUpdate::Begun { target: "a".into() });
        log.push(JobUpdate::Begun { target: "b".into() });
        log.push(JobUpdate::Done(ledger.returned(&job, "a", fine()).await.expect("stored")));
        // More than the log holds: the watcher that has not read yet falls behind.
        for _ in 0..MAX_UPDATES {
            log.push(JobUpdate::Output { target: "b".into(), stream: Stream::Stdout, bytes: b"x".to_vec() });
        }
        let late = JobWatcher::new(Arc::clone(&ledger), job.id, Some(Arc::clone(&log)));
        log.push(JobUpdate::Done(ledger.returned(&job, "b", fine()).await.expect("stored")));
        ledger.set_state(&mut job, JobState::Done, Vec::new()).await.expect("stored");
        log.push(JobUpdate::Ended(Box::new(job.clone())));
        drop(log);
        let after = JobWatcher::new(Arc::clone(&ledger), job.id, None);
        for watcher in [early, late, after] {
            let mut heard = all(watcher).await;
            heard.retain(|line| line.starts_with("done") || line.starts_with("ended"));
            assert_eq!(heard, ["done a", "done b", "ended done"]);
        }
    }

    #[tokio::test]
    async fn who_comes_back_goes_on_where_they_were() {
        let ledger = ledger().await;
        let new = NewJob { function: "test.ping".into(), targets: vec!["a".into()], ..NewJob::default() };
        let mut job = ledger.begin(new, JobState::Running).await.expect("stored").expect("a new id");
        let log = Arc::new(UpdateLog::default());
        log.push(JobUpdate::Begun { target: "a".into() });
        log.push(JobUpdate::Done(ledger.returned(&job, "a", fine()).await.expect("stored")));
        let watch = || JobWatcher::new(Arc::clone(&ledger), job.id, Some(Arc::clone(&log)));
        let mut first = watch();
        let update = first.next().await.expect("the store is there").expect("more");
        assert_eq!(update, JobUpdate::Begun { target: "a".into() });
        let mark = first.mark().expect("it runs here");
        let (mut second, mut other) = (watch(), watch());
        second.resume(&mark);
        other.resume(&format!("1{mark}"));
        ledger.set_state(&mut job, JobState::Done, Vec::new()).await.expect("stored");
        log.push(JobUpdate::Ended(Box::new(job)));
        assert_eq!(all(second).await, ["done a", "ended done"]);
        assert_eq!(all(other).await, ["begun a", "done a", "ended done"], "of another run of the daemon");
    }

    #[tokio::test]
    async fn a_hub_that_vanishes_leaves_the_ledger() {
        let ledger = ledger().await;
        let new = NewJob { function: "test.ping".into(), targets: vec!["a".into()], ..NewJob::default() };
        let mut job = ledger.begin(new, JobState::Running).await.expect("stored").expect("a new id");
        let log = Arc::new(UpdateLog::default());
        let watcher = JobWatcher::new(Arc::clone(&ledger), job.id, Some(Arc::clone(&log)));
        let watching = tokio::spawn(all(watcher));
        ledger.set_state(&mut job, JobState::Lost, Vec::new()).await.expect("stored");
        log.push(JobUpdate::Ended(Box::new(job)));
        assert_eq!(watching.await.expect("it ends"), ["ended lost"]);
    }
}
