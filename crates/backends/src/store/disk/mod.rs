//! `disk`: a store in one redb file. The default: it needs no setup and no maintenance.
//!
//! One thread writes (see [`writer`]); reads bypass it and see the last commit. The revision is stored in the file. The
//! history for watches is in memory: a watch from before the start gets a gap. Leases end with the process: their keys
//! are deleted at the next opening.

mod database;
mod store_file;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};

use super::history::{ChangeHistory, HistoryBounds};
use super::watch::WatchSource;
use super::{
    Committed, Error, KeyRange, Lease, Pair, RangeResult, Revision, Store, StoreWatch, Transaction, TransactionLimits,
};
use database::{Database, DatabaseFault};
use store_file::StoreFile;
use writer::{DiskWriter, WriterRequest};

/// Far more than etcd's limits, because nothing here crosses a network.
pub(super) const LIMITS: TransactionLimits = TransactionLimits { operations: 10_000, bytes: 64 << 20 };

/// Capacity of the writer's queue.
const QUEUE_CAPACITY: usize = 4096;

pub struct Disk {
    /// `None` only while dropping: the thread ends when its last sender is gone.
    requests: Option<mpsc::Sender<WriterRequest>>,
    database: Arc<Database>,
    history: ChangeHistory,
    thread: Option<JoinHandle<()>>,
}

impl Disk {
    pub async fn open(path: &Path) -> Result<Disk, Error> {
        let path = path.to_owned();
        // Opening may repair the file, which reads all of it.
        let opened =
            tokio::task::spawn_blocking(move || Disk::open_blocking(StoreFile::new(path)?, HistoryBounds::default()));
        opened.await.unwrap_or_else(|error| Err(Error::Unavailable { doing: "open the data", why: error.to_string() }))
    }

    fn open_blocking(file: StoreFile, bounds: HistoryBounds) -> Result<Disk, Error> {
        let database = Arc::new(Database::open(file)?);
        let revision = database.start()?;
        let history = ChangeHistory::new(revision, bounds);
        let (requests, received) = mpsc::channel(QUEUE_CAPACITY);
        let writer = DiskWriter::new(Arc::clone(&database), history.clone(), revision);
        let thread = std::thread::Builder::new().name("store".into()).spawn(move || writer.run(received));
        let thread =
            thread.map_err(|error| Error::Unavailable { doing: "start the writer", why: error.to_string() })?;
        Ok(Disk { requests: Some(requests), database, history, thread: Some(thread) })
    }

    async fn send(&self, request: WriterRequest) -> Result<(), Error> {
        let requests = self.requests.as_ref().ok_or_else(closed)?;
        requests.send(request).await.map_err(|_| closed())
    }

    /// Reads on a blocking thread. A broken handle is reopened once and the read repeated.
    async fn read<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&redb::ReadTransaction) -> Result<T, DatabaseFault> + Send + Clone + 'static,
    {
        for attempt in 0.. {
            let (database, read) = (Arc::clone(&self.database), read.clone());
            let done = tokio::task::spawn_blocking(move || database.read(read)).await;
            // redb panics on some kinds of damage.
            let done = done.unwrap_or_else(|error| Err(DatabaseFault::panic(error.to_string())));
            match done {
                Ok(value) => return Ok(value),
                Err(_) if attempt == 0 => {
                    let (answer, answered) = oneshot::channel();
                    self.send(WriterRequest::Repair(answer)).await?;
                    answered.await.map_err(|_| closed())?;
                }
                Err(fault) => return Err(fault.error("read", self.database.store_file())),
            }
        }
        Err(closed())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Queued commits are still written; then the file can be opened again.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn closed() -> Error {
    Error::Unavailable { doing: "do anything", why: "it is closed".into() }
}

#[async_trait]
impl Store for Disk {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error> {
        let key = key.to_owned();
        self.read(move |transaction| database::get(transaction, &key)).await
    }

    async fn range(&self, range: &KeyRange) -> Result<RangeResult, Error> {
        let range = range.clone();
        self.read(move |transaction| database::range(transaction, &range)).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let transaction = transaction.validated(LIMITS)?;
        let (answer, answered) = oneshot::channel();
        self.send(WriterRequest::Commit(transaction, answer)).await?;
        let unsure = |_| Error::OutcomeUnknown { why: "the writer thread has ended".into() };
        answered.await.map_err(unsure)?
    }

    async fn lease(&self, _: Duration) -> Result<Lease, Error> {
        let (lost, heard) = watch::channel(false);
        let (held, dropped) = oneshot::channel::<()>();
        let (answer, answered) = oneshot::channel();
        self.send(WriterRequest::Lease(lost, answer)).await?;
        let id = answered.await.map_err(|_| closed())?;
        // A weak sender, so that leases don't keep the writer alive: they end with the store anyway.
        let requests = self.requests.as_ref().map(mpsc::Sender::downgrade);
        tokio::spawn(async move {
            let _ = dropped.await;
            // Upgraded only for one send: closing the store waits for all strong senders.
            while let Some(requests) = requests.as_ref().and_then(mpsc::WeakSender::upgrade) {
                match requests.try_send(WriterRequest::EndLease(id)) {
                    Err(mpsc::error::TrySendError::Full(_)) => drop(requests),
                    _ => return,
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Ok(Lease { id, lost: heard, _held: held })
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, Error> {
        Ok(StoreWatch(WatchSource::History(self.history.watch(prefix, after))))
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        let newest = self.range(&KeyRange::default()).await?.revision;
        self.history.skip_to(before.saturating_sub(1).min(newest));
        Ok(())
    }

    fn limits(&self) -> TransactionLimits {
        LIMITS
    }
}
