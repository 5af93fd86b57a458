//! [`RunningJob`]: a job that is under way, as those see it who wait for it or stop it.

use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::record::ReturnRecord;
use tokio::sync::watch;

use crate::execution::CancelSignal;
use crate::job_watch::UpdateLog;

/// More than so much of a job's returns is read from the store again.
const BYTES: usize = 8 << 20;

/// A job with more than so much isn't held once it has ended.
const SMALL: usize = 64 << 10;

#[derive(Default)]
pub struct RunningJob {
    pub cancel_signal: CancelSignal,
    /// What those hear who watch it.
    pub hub: Arc<UpdateLog>,
    returns: Mutex<Returns>,
    ended: watch::Sender<bool>,
}

/// Those that are stored.
#[derive(Default)]
struct Returns {
    all: Vec<ReturnRecord>,
    bytes: usize,
}

impl RunningJob {
    pub fn add(&self, records: Vec<ReturnRecord>) {
        let size = |record: &ReturnRecord| minicbor::to_vec(record).map_or(0, |bytes| bytes.len());
        let mut returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
        returns.bytes += records.iter().map(size).sum::<usize>();
        match returns.bytes > BYTES {
            true => returns.all = Vec::new(),
            false => returns.all.extend(records),
        }
    }

    /// All that are stored; `None` if they are too large to be here.
    pub fn returns(&self) -> Option<Vec<ReturnRecord>> {
        let returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
        (returns.bytes <= BYTES).then(|| returns.all.clone())
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
