//! [`Writer`]: assigns ids to events, and merges concurrent write requests into one commit.
//!
//! A commit to disk costs a few milliseconds whatever is in it. While one runs, further requests are collected.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use rocksalt_backends::store::{Committed, Error, KeyRange, Store, Transaction, TransactionOp};
use rocksalt_core::record::{Account, EventId, JobRecord, LoggedEvent};
use rocksalt_core::{Event, JobId};
use tokio::sync::{mpsc, oneshot};

use super::follow::RecentEvents;
use super::index::Index;
use super::keys;
use crate::job_events;

/// The limit of operations in one commit, if the store allows as many.
const OPERATIONS: usize = 2000;

/// How often a commit is retried after a conflict with another controller.
const TRIES: usize = 20;

pub struct Writer(mpsc::Sender<PendingWrite>);

/// Changes that are written together or not at all.
#[derive(Default)]
pub struct WriteRequest {
    /// Write only if this key does not exist.
    pub absent: Option<String>,
    pub changes: Vec<TransactionOp>,
    pub events: Vec<LoggedEvent>,
    /// The job whose record is among the changes, and the record's size.
    pub job: Option<(Arc<JobRecord>, usize)>,
    /// Jobs whose records are deleted.
    pub gone: Vec<JobId>,
}

impl WriteRequest {
    pub fn events(events: Vec<Event>, account: Option<&Account>) -> WriteRequest {
        let logged = |event| LoggedEvent::new(event, account.cloned());
        WriteRequest { events: events.into_iter().map(logged).collect(), ..WriteRequest::default() }
    }

    /// Adds the write of a job's record.
    pub fn job(mut self, job: Arc<JobRecord>) -> WriteRequest {
        let value = minicbor::to_vec(&*job).unwrap_or_default();
        let size = value.len();
        self.changes.push(TransactionOp::Put { key: keys::job(job.id), value, lease: None });
        self.job = Some((job, size));
        self
    }

    fn operations(&self) -> usize {
        self.changes.len() + self.events.len()
    }

    fn bytes(&self) -> usize {
        let size = |change: &TransactionOp| match change {
            TransactionOp::Put { value, .. } => value.len(),
            TransactionOp::Delete { .. } => 0,
        };
        self.changes.iter().map(size).sum()
    }
}

struct PendingWrite {
    request: WriteRequest,
    answer: oneshot::Sender<Result<Option<EventId>, Error>>,
}

impl Writer {
    pub fn start(store: Arc<dyn Store>, recent: Arc<RecentEvents>, index: Arc<Index>, now: fn() -> u64) -> Writer {
        let (sender, mut requests) = mpsc::channel::<PendingWrite>(1024);
        tokio::spawn(async move {
            // A third, because the events repeat much of the changes.
            let room = Room { operations: store.limits().operations.min(OPERATIONS), bytes: store.limits().bytes / 3 };
            let committer = Committer { store, recent, index, now };
            let mut waiting = VecDeque::new();
            let mut fresh = Vec::new();
            loop {
                if waiting.is_empty() && requests.recv_many(&mut fresh, 1024).await == 0 {
                    return;
                }
                while let Ok(pending) = requests.try_recv() {
                    fresh.push(pending);
                }
                waiting.extend(fresh.drain(..));
                committer.commit(together(&mut waiting, &room)).await;
            }
        });
        Writer(sender)
    }

    /// Writes all changes together. Returns the id of the last event, or of the newest one. `None` if the key in
    /// `absent` exists.
    pub async fn write(&self, request: WriteRequest) -> Result<Option<EventId>, Error> {
        let (answer, answered) = oneshot::channel();
        let closed = || Error::Unavailable { doing: "write", why: "it is being closed".into() };
        self.0.send(PendingWrite { request, answer }).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

struct Room {
    operations: usize,
    bytes: usize,
}

/// Takes as many requests as fit into one commit, in their order.
fn together(waiting: &mut VecDeque<PendingWrite>, room: &Room) -> Vec<PendingWrite> {
    let (mut batch, mut operations, mut bytes) = (Vec::new(), 0, 0);
    while let Some(next) = waiting.front() {
        operations += next.request.operations();
        bytes += next.request.bytes();
        if !batch.is_empty() && (operations > room.operations || bytes > room.bytes) {
            break;
        }
        batch.extend(waiting.pop_front());
    }
    batch
}

struct Committer {
    store: Arc<dyn Store>,
    recent: Arc<RecentEvents>,
    index: Arc<Index>,
    now: fn() -> u64,
}

impl Committer {
    async fn commit(&self, batch: Vec<PendingWrite>) {
        let mut batch = drop_duplicates(batch);
        for _ in 0..TRIES {
            if batch.is_empty() {
                return;
            }
            let (transaction, sizes) = self.transaction(&mut batch);
            let witness = transaction.operations.last().cloned();
            let committed = match self.store.commit(transaction).await {
                Err(Error::OutcomeUnknown { why }) => self.was_committed(witness, why).await,
                other => other,
            };
            match committed {
                Ok(Committed::Done(_)) => return self.done(batch, sizes),
                Ok(Committed::Conflict) => match self.resolve_conflict(batch).await {
                    Ok(rest) => batch = rest,
                    Err((rest, error)) => return refuse(rest, &error),
                },
                // A request that the store always refuses must not make the others fail.
                Err(Error::TooLarge { .. } | Error::Key { .. }) if batch.len() > 1 => {
                    for one in batch {
                        Box::pin(self.commit(vec![one])).await;
                    }
                    return;
                }
                Err(error) => return refuse(batch, &error),
            }
        }
        refuse(batch, &Error::Unavailable { doing: "write", why: "others write all the time".into() });
    }

    fn transaction(&self, batch: &mut [PendingWrite]) -> (Transaction, Vec<usize>) {
        let mut last = self.recent.last();
        let stamp = (self.now)();
        let mut sizes = Vec::new();
        let mut transaction = Transaction::default();
        // Another controller may have used this id and following ones.
        if batch.iter().any(|pending| !pending.request.events.is_empty()) {
            transaction = transaction.if_absent(keys::event(last + 1));
        }
        for pending in batch {
            let request = &mut pending.request;
            if let Some(key) = &request.absent {
                transaction = transaction.if_absent(key);
            }
            transaction.operations.extend(request.changes.iter().cloned());
            for event in &mut request.events {
                last += 1;
                (event.id, event.stamp) = (last, stamp);
                job_events::stamp(&mut event.event, stamp);
                let value = minicbor::to_vec(&*event).unwrap_or_default();
                sizes.push(value.len());
                transaction = transaction.put(keys::event(last), value);
            }
        }
        (transaction, sizes)
    }

    /// Whether a commit that failed was applied after all. Commits are atomic, so one change shows it.
    async fn was_committed(&self, witness: Option<TransactionOp>, why: String) -> Result<Committed, Error> {
        let there = match &witness {
            Some(TransactionOp::Put { key, value, .. }) => {
                self.store.get(key).await?.is_some_and(|pair| pair.value == *value)
            }
            Some(TransactionOp::Delete { key }) => self.store.get(key).await?.is_none(),
            None => true,
        };
        // The revision is not used.
        if there { Ok(Committed::Done(0)) } else { Err(Error::Unavailable { doing: "write", why }) }
    }

    fn done(&self, batch: Vec<PendingWrite>, sizes: Vec<usize>) {
        let mut sizes = sizes.into_iter();
        for PendingWrite { request, answer } in batch {
            if !request.gone.is_empty() {
                self.index.forget(&request.gone);
            }
            if let Some((job, size)) = request.job {
                self.index.put(job, size);
            }
            for event in request.events {
                self.recent.log(event, sizes.next().unwrap_or_default());
            }
            // The requester may be gone.
            let _ = answer.send(Ok(Some(self.recent.last())));
        }
    }

    /// After a conflict: skips ids that other controllers used, and answers requests whose `absent` key exists.
    async fn resolve_conflict(
        &self,
        batch: Vec<PendingWrite>,
    ) -> Result<Vec<PendingWrite>, (Vec<PendingWrite>, Error)> {
        match newest(&*self.store).await {
            Ok(newest) if newest > self.recent.last() => self.recent.skip_to(newest),
            Ok(_) => {}
            Err(error) => return Err((batch, error)),
        }
        let mut rest = Vec::new();
        let mut batch = batch.into_iter();
        while let Some(pending) = batch.next() {
            let there = match &pending.request.absent {
                Some(key) => self.store.get(key).await.map(|pair| pair.is_some()),
                None => Ok(false),
            };
            match there {
                Ok(true) => drop(pending.answer.send(Ok(None))),
                Ok(false) => rest.push(pending),
                Err(error) => {
                    rest.push(pending);
                    rest.extend(batch);
                    return Err((rest, error));
                }
            }
        }
        Ok(rest)
    }
}

/// Keeps only the first of several requests that create the same key.
fn drop_duplicates(batch: Vec<PendingWrite>) -> Vec<PendingWrite> {
    let mut keys = HashSet::new();
    let mut rest = Vec::with_capacity(batch.len());
    for pending in batch {
        match &pending.request.absent {
            Some(key) if !keys.insert(key.clone()) => drop(pending.answer.send(Ok(None))),
            _ => rest.push(pending),
        }
    }
    rest
}

fn refuse(batch: Vec<PendingWrite>, error: &Error) {
    for pending in batch {
        let _ = pending.answer.send(Err(error.clone()));
    }
}

async fn newest(store: &dyn Store) -> Result<EventId, Error> {
    let listing = store.range(&KeyRange::prefix(keys::EVENTS).descending().limit(1).keys_only()).await?;
    Ok(listing.pairs.first().and_then(|pair| keys::event_id(&pair.key)).unwrap_or(0))
}
