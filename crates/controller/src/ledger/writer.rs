//! [`Writer`]: gives events their ids, and commits what many request to write at once as one.
//!
//! A commit to disk costs a few milliseconds whatever is in it. While one is under way the others collect.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use rocksalt_backends::store::{Committed, Error, KeyRange, Store, Transaction, TransactionOp};
use rocksalt_core::record::{EventId, JobRecord, LoggedEvent};
use rocksalt_core::{Event, JobId};
use tokio::sync::{mpsc, oneshot};

use super::follow::Recent;
use super::index::Index;
use super::keys;
use crate::job_events;

/// At most so many operations in one commit, if the store takes as many.
const OPERATIONS: usize = 2000;

/// So often another controller may be faster before we give up.
const TRIES: usize = 20;

pub struct Writer(mpsc::Sender<Asked>);

/// What somebody wants written, all of it or nothing.
#[derive(Default)]
pub struct WriteRequest {
    /// Only if this key isn't there.
    pub absent: Option<String>,
    pub changes: Vec<TransactionOp>,
    pub events: Vec<LoggedEvent>,
    /// The job whose record is among the changes, and how large that is.
    pub job: Option<(Arc<JobRecord>, usize)>,
    /// Jobs whose records are deleted.
    pub gone: Vec<JobId>,
}

impl WriteRequest {
    pub fn events(events: Vec<Event>) -> WriteRequest {
        let logged = |event| LoggedEvent { id: 0, stamp: 0, event };
        WriteRequest { events: events.into_iter().map(logged).collect(), ..WriteRequest::default() }
    }

    /// Puts a job's record.
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

struct Asked {
    request: WriteRequest,
    answer: oneshot::Sender<Result<Option<EventId>, Error>>,
}

impl Writer {
    pub fn start(store: Arc<dyn Store>, recent: Arc<Recent>, index: Arc<Index>, now: fn() -> u64) -> Writer {
        let (sender, mut requests) = mpsc::channel::<Asked>(1024);
        tokio::spawn(async move {
            // Beside the changes there are the events, which hold much of the same.
            let room = Room { operations: store.limits().operations.min(OPERATIONS), bytes: store.limits().bytes / 3 };
            let shared = Shared { store, recent, index, now };
            let mut waiting = VecDeque::new();
            let mut fresh = Vec::new();
            loop {
                if waiting.is_empty() && requests.recv_many(&mut fresh, 1024).await == 0 {
                    return;
                }
                while let Ok(asked) = requests.try_recv() {
                    fresh.push(asked);
                }
                waiting.extend(fresh.drain(..));
                shared.commit(together(&mut waiting, &room)).await;
            }
        });
        Writer(sender)
    }

    /// Writes all of it together; the answer is the id of its last event, or of the newest there is. `None` if the key
    /// that must not be there is.
    pub async fn write(&self, request: WriteRequest) -> Result<Option<EventId>, Error> {
        let (answer, answered) = oneshot::channel();
        let closed = || Error::Unavailable { doing: "write", why: "it is being closed".into() };
        self.0.send(Asked { request, answer }).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

struct Room {
    operations: usize,
    bytes: usize,
}

/// As many as go into one commit, in their order.
fn together(waiting: &mut VecDeque<Asked>, room: &Room) -> Vec<Asked> {
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

struct Shared {
    store: Arc<dyn Store>,
    recent: Arc<Recent>,
    index: Arc<Index>,
    now: fn() -> u64,
}

impl Shared {
    async fn commit(&self, batch: Vec<Asked>) {
        let mut batch = taken_among_themselves(batch);
        for _ in 0..TRIES {
            if batch.is_empty() {
                return;
            }
            let (transaction, sizes) = self.transaction(&mut batch);
            let witness = transaction.operations.last().cloned();
            let committed = match self.store.commit(transaction).await {
                Err(Error::OutcomeUnknown { why }) => self.was_it_done(witness, why).await,
                other => other,
            };
            match committed {
                Ok(Committed::Done(_)) => return self.done(batch, sizes),
                Ok(Committed::Conflict) => match self.who_may_not(batch).await {
                    Ok(rest) => batch = rest,
                    Err((rest, error)) => return refuse(rest, &error),
                },
                // One that the store never takes must not take the others with it.
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

    fn transaction(&self, batch: &mut [Asked]) -> (Transaction, Vec<usize>) {
        let mut last = self.recent.last();
        let stamp = (self.now)();
        let mut sizes = Vec::new();
        let mut transaction = Transaction::default();
        // Another controller may have taken the number; and all behind it, if any.
        if batch.iter().any(|asked| !asked.request.events.is_empty()) {
            transaction = transaction.if_absent(keys::event(last + 1));
        }
        for asked in batch {
            let request = &mut asked.request;
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

    /// All of a commit was done or nothing: one change tells for all.
    async fn was_it_done(&self, witness: Option<TransactionOp>, why: String) -> Result<Committed, Error> {
        let there = match &witness {
            Some(TransactionOp::Put { key, value, .. }) => {
                self.store.get(key).await?.is_some_and(|pair| pair.value == *value)
            }
            Some(TransactionOp::Delete { key }) => self.store.get(key).await?.is_none(),
            None => true,
        };
        // Which revision it was nobody here wants to know.
        if there { Ok(Committed::Done(0)) } else { Err(Error::Unavailable { doing: "write", why }) }
    }

    fn done(&self, batch: Vec<Asked>, sizes: Vec<usize>) {
        let mut sizes = sizes.into_iter();
        for Asked { request, answer } in batch {
            if !request.gone.is_empty() {
                self.index.forget(&request.gone);
            }
            if let Some((job, size)) = request.job {
                self.index.put(job, size);
            }
            for event in request.events {
                self.recent.log(event, sizes.next().unwrap_or_default());
            }
            // Whoever asked may be gone.
            let _ = answer.send(Ok(Some(self.recent.last())));
        }
    }

    /// After a conflict: numbers that others took are left out, and who wanted a key that is there is told.
    async fn who_may_not(&self, batch: Vec<Asked>) -> Result<Vec<Asked>, (Vec<Asked>, Error)> {
        match newest(&*self.store).await {
            Ok(newest) if newest > self.recent.last() => self.recent.skip_to(newest),
            Ok(_) => {}
            Err(error) => return Err((batch, error)),
        }
        let mut rest = Vec::new();
        let mut batch = batch.into_iter();
        while let Some(asked) = batch.next() {
            let there = match &asked.request.absent {
                Some(key) => self.store.get(key).await.map(|pair| pair.is_some()),
                None => Ok(false),
            };
            match there {
                Ok(true) => drop(asked.answer.send(Ok(None))),
                Ok(false) => rest.push(asked),
                Err(error) => {
                    rest.push(asked);
                    rest.extend(batch);
                    return Err((rest, error));
                }
            }
        }
        Ok(rest)
    }
}

/// Of those that want the same key the first has it.
fn taken_among_themselves(batch: Vec<Asked>) -> Vec<Asked> {
    let mut keys = HashSet::new();
    let mut rest = Vec::with_capacity(batch.len());
    for asked in batch {
        match &asked.request.absent {
            Some(key) if !keys.insert(key.clone()) => drop(asked.answer.send(Ok(None))),
            _ => rest.push(asked),
        }
    }
    rest
}

fn refuse(batch: Vec<Asked>, error: &Error) {
    for asked in batch {
        let _ = asked.answer.send(Err(error.clone()));
    }
}

async fn newest(store: &dyn Store) -> Result<EventId, Error> {
    let listing = store.range(&KeyRange::prefix(keys::EVENTS).descending().limit(1).keys_only()).await?;
    Ok(listing.pairs.first().and_then(|pair| keys::event_id(&pair.key)).unwrap_or(0))
}
