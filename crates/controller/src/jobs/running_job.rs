//! [`RunningJob`]: a job that runs, as seen by those who watch it, wait for it or cancel it.

use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::record::ReturnRecord;
use tokio::sync::{mpsc, watch};

use crate::execution::CancelSignal;
use crate::job_watch::UpdateLog;

/// Returns beyond this many bytes are not held, but read from the store.
const MAX_BYTES: usize = 8 << 20;

/// A job with more than this many bytes of returns leaves memory when it ends.
const SMALL: usize = 64 << 10;

#[derive(Default)]
pub struct RunningJob {
    pub cancel_signal: CancelSignal,
    /// The updates for watchers.
    pub update_log: Arc<UpdateLog>,
    /// Receives every update in place of the log, without a limit: for the command that runs the job itself.
    observer: Option<mpsc::UnboundedSender<JobUpdate>>,
    returns: Mutex<StoredReturns>,
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct StoredReturns {
    records: Vec<ReturnRecord>,
    bytes: usize,
}

impl RunningJob {
    pub fn observed_by(observer: Option<mpsc::UnboundedSender<JobUpdate>>) -> RunningJob {
        RunningJob { observer, ..RunningJob::default() }
    }

    /// Passes an update on. A return is passed on when it is stored, `Ended` when the record says so.
    pub fn publish(&self, update: JobUpdate) {
        match &self.observer {
            // An observer that has gone needs no more updates.
            Some(observer) => drop(observer.send(update)),
            None => self.update_log.push(update),
        }
    }

    /// Passes on stored returns, and holds them.
    pub fn publish_returns(&self, stored: Vec<ReturnRecord>) {
        // An observer gets the records themselves: copying a large result takes as long as reading it.
        if self.observer.is_some() {
            return stored.into_iter().for_each(|record| self.publish(JobUpdate::Done(record)));
        }
        stored.iter().for_each(|record| self.publish(JobUpdate::Done(record.clone())));
        self.hold(stored);
    }

    /// Holds stored returns for those who wait.
    pub fn hold(&self, stored: Vec<ReturnRecord>) {
        let mut returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
        returns.bytes += stored.iter().map(encoded_length).sum::<usize>();
        match returns.bytes > MAX_BYTES {
            true => returns.records = Vec::new(),
            false => returns.records.extend(stored),
        }
    }

    /// All stored returns; `None` if they are too large to be held here.
    pub fn returns(&self) -> Option<Vec<ReturnRecord>> {
        let returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
        (returns.bytes <= MAX_BYTES).then(|| returns.records.clone())
    }

    pub fn is_small(&self) -> bool {
        self.returns.lock().unwrap_or_else(PoisonError::into_inner).bytes <= SMALL
    }

    pub async fn ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    pub fn end(&self) {
        self.ended.send_replace(true);
    }
}

/// The size of a record in the store, computed without allocating.
fn encoded_length(record: &ReturnRecord) -> usize {
    struct Length(usize);

    impl minicbor::encode::Write for Length {
        type Error = std::convert::Infallible;

        fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
            self.0 += bytes.len();
            Ok(())
        }
    }

    let mut length = Length(0);
    minicbor::encode(record, &mut length).map_or(0, |()| length.0)
}
