//! `disk`: a store in one file of this machine, by redb. The default: nothing to set up, nothing to look after.
//!
//! One thread writes (see [`writer`]); reads go past it and see the last commit. Revisions are counted in the file. The
//! history for watches is in memory: whoever watches from before the start is told of a gap. Leases end with the
//! process: what was put under one is gone at the next opening.

mod file;
mod place;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};

use super::history::{Bounds, History};
use super::watch::Source;
use super::{Committed, Error, Lease, Limits, Listing, Pair, Range, Revision, Store, Transaction, Watch};
use file::{Database, Fault};
use place::Place;
use writer::{Ask, Writer};

/// What one commit may have; far more than etcd takes, for those who never leave this machine.
pub(super) const LIMITS: Limits = Limits { operations: 10_000, bytes: 64 << 20 };

/// How many may wait for the thread before others wait to be heard.
const WAITING: usize = 4096;

pub struct Disk {
    /// `None` only while it is dropped: the thread ends when nobody can ask it any more.
    asks: Option<mpsc::Sender<Ask>>,
    database: Arc<Database>,
    history: History,
    thread: Option<JoinHandle<()>>,
}

impl Disk {
    pub async fn open(path: &Path) -> Result<Disk, Error> {
        let path = path.to_owned();
        // It may have to be repaired, which reads the whole file.
        let opened = tokio::task::spawn_blocking(move || Disk::open_now(Place::new(path)?, Bounds::default()));
        opened.await.unwrap_or_else(|error| Err(Error::Away { doing: "open what is", why: error.to_string() }))
    }

    fn open_now(place: Place, bounds: Bounds) -> Result<Disk, Error> {
        let database = Arc::new(Database::open(place)?);
        let revision = database.begin()?;
        let history = History::new(revision, bounds);
        let (asks, asked) = mpsc::channel(WAITING);
        let writer = Writer::new(Arc::clone(&database), history.clone(), revision);
        let thread = std::thread::Builder::new().name("store".into()).spawn(move || writer.run(asked));
        let thread = thread.map_err(|error| Error::Away { doing: "start what writes", why: error.to_string() })?;
        Ok(Disk { asks: Some(asks), database, history, thread: Some(thread) })
    }

    async fn ask(&self, ask: Ask) -> Result<(), Error> {
        let asks = self.asks.as_ref().ok_or_else(closed)?;
        asks.send(ask).await.map_err(|_| closed())
    }

    /// Reads on a thread that may wait for the disk. A handle that is broken is mended once, then tried again.
    async fn read<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&redb::ReadTransaction) -> Result<T, Fault> + Send + Clone + 'static,
    {
        for attempt in 0.. {
            let (database, read) = (Arc::clone(&self.database), read.clone());
            let done = tokio::task::spawn_blocking(move || database.read(read)).await;
            // A panic: redb has found something that it holds for impossible.
            let done = done.unwrap_or_else(|error| Err(Fault::panic(error.to_string())));
            match done {
                Ok(value) => return Ok(value),
                Err(_) if attempt == 0 => {
                    let (answer, answered) = oneshot::channel();
                    self.ask(Ask::Mend(answer)).await?;
                    answered.await.map_err(|_| closed())?;
                }
                Err(fault) => return Err(fault.error("read", self.database.place())),
            }
        }
        Err(closed())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.asks.take());
        // What was asked for is still written; then the file can be opened again.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn closed() -> Error {
    Error::Away { doing: "do anything", why: "it is closed".into() }
}

#[async_trait]
impl Store for Disk {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error> {
        let key = key.to_owned();
        self.read(move |transaction| file::get(transaction, &key)).await
    }

    async fn range(&self, range: &Range) -> Result<Listing, Error> {
        let range = range.clone();
        self.read(move |transaction| file::range(transaction, &range)).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let transaction = transaction.settled(LIMITS)?;
        let (answer, answered) = oneshot::channel();
        self.ask(Ask::Commit(transaction, answer)).await?;
        let unsure = |_| Error::Unsure { why: "the thread that writes has ended".into() };
        answered.await.map_err(unsure)?
    }

    async fn lease(&self, _: Duration) -> Result<Lease, Error> {
        let (lost, heard) = watch::channel(false);
        let (held, dropped) = oneshot::channel::<()>();
        let (answer, answered) = oneshot::channel();
        self.ask(Ask::Lease(lost, answer)).await?;
        let id = answered.await.map_err(|_| closed())?;
        // Not to keep the thread alive: with the store, its leases end anyway.
        let asks = self.asks.as_ref().map(mpsc::Sender::downgrade);
        tokio::spawn(async move {
            let _ = dropped.await;
            // Held only for the moment of asking: whoever closes the store waits until nobody has it.
            while let Some(asks) = asks.as_ref().and_then(mpsc::WeakSender::upgrade) {
                match asks.try_send(Ask::End(id)) {
                    Err(mpsc::error::TrySendError::Full(_)) => drop(asks),
                    _ => return,
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Ok(Lease { id, lost: heard, _held: held })
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, Error> {
        Ok(Watch(Source::History(self.history.watch(prefix, after))))
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        let newest = self.range(&Range::default()).await?.revision;
        self.history.skip_to(before.saturating_sub(1).min(newest));
        Ok(())
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}
