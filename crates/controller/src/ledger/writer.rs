//! [`Writer`]: gives events their ids, and commits what many wish to write at once as one.
//!
//! A commit to disk costs a few milliseconds whatever is in it. While one is under way the others collect.

use std::sync::Arc;

use rocksalt_backends::store::{Committed, Error, Operation, Range, Store, Transaction};
use rocksalt_core::Event;
use rocksalt_core::record::{EventId, Logged};
use tokio::sync::{mpsc, oneshot};

use super::follow::Recent;
use super::keys;

/// At most so many wishes in one commit: etcd takes 128 operations.
const TOGETHER: usize = 40;

pub struct Writer(mpsc::Sender<Wish>);

struct Wish {
    changes: Vec<Operation>,
    events: Vec<Event>,
    answer: oneshot::Sender<Result<EventId, Error>>,
}

impl Writer {
    pub fn start(store: Arc<dyn Store>, recent: Arc<Recent>, now: fn() -> u64) -> Writer {
        let (sender, mut wishes) = mpsc::channel::<Wish>(1024);
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while wishes.recv_many(&mut batch, TOGETHER).await > 0 {
                commit(&*store, &recent, now, std::mem::take(&mut batch)).await;
            }
        });
        Writer(sender)
    }

    /// Writes all of it together; the answer is the id of the last event, or of the newest there is.
    pub async fn write(&self, changes: Vec<Operation>, events: Vec<Event>) -> Result<EventId, Error> {
        let (answer, answered) = oneshot::channel();
        let closed = || Error::Away { doing: "write", why: "it is being closed".into() };
        self.0.send(Wish { changes, events, answer }).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

async fn commit(store: &dyn Store, recent: &Recent, now: fn() -> u64, batch: Vec<Wish>) {
    let result = loop {
        let mut last = recent.last();
        let mut transaction = Transaction::default();
        let mut logged = Vec::new();
        for wish in &batch {
            transaction.changes.extend(wish.changes.iter().cloned());
            for event in &wish.events {
                last += 1;
                let event = Logged { id: last, stamp: now(), event: event.clone() };
                let value = minicbor::to_vec(&event).unwrap_or_default();
                // Another controller may have taken the number.
                transaction = transaction.if_absent(keys::event(last)).put(keys::event(last), value);
                logged.push(event);
            }
        }
        match store.commit(transaction).await {
            Ok(Committed::Done(_)) => {
                logged.into_iter().for_each(|event| recent.log(event));
                break Ok(last);
            }
            Ok(Committed::Conflict) => match newest(store).await {
                Ok(newest) => recent.skip_to(newest),
                Err(error) => break Err(error),
            },
            Err(error) => break Err(error),
        }
    };
    for wish in batch {
        // Whoever asked may be gone.
        let _ = wish.answer.send(result.clone());
    }
}

async fn newest(store: &dyn Store) -> Result<EventId, Error> {
    let listing = store.range(&Range::prefix(keys::EVENTS).backwards().limit(1).keys_only()).await?;
    Ok(listing.pairs.first().and_then(|pair| keys::event_id(&pair.key)).unwrap_or(0))
}
