//! `memory`: a store that ends with its process, for tests and for commands that store nothing.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{oneshot, watch};

use super::history::{ChangeHistory, HistoryBounds};
use super::watch::WatchSource;
use super::{
    Committed, Error, KeyChange, KeyRange, Lease, LeaseId, Pair, RangeResult, Revision, Store, StoreWatch, Transaction,
    TransactionLimits, TransactionOp,
};

/// The limits of `disk`, so that what works here works there.
const LIMITS: TransactionLimits = super::disk::LIMITS;

pub struct Memory(Arc<Mutex<MemoryState>>);

struct MemoryState {
    revision: Revision,
    pairs: BTreeMap<String, (Pair, Option<LeaseId>)>,
    leases: HashMap<LeaseId, watch::Sender<bool>>,
    last_lease: LeaseId,
    history: ChangeHistory,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory(Arc::new(Mutex::new(MemoryState {
            revision: 0,
            pairs: BTreeMap::new(),
            leases: HashMap::new(),
            last_lease: 0,
            history: ChangeHistory::new(0, HistoryBounds::default()),
        })))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.state().history.close();
    }
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn commit(&mut self, transaction: Transaction) -> Result<Committed, Error> {
        let at = |key: &str| Ok::<_, Infallible>(self.pairs.get(key).map(|(pair, _)| pair.modified));
        let Ok(holds) = transaction.conditions_hold(at);
        if !holds {
            return Ok(Committed::Conflict);
        }
        if transaction.operations.is_empty() {
            return Ok(Committed::Done(self.revision));
        }
        let gone = |lease: &LeaseId| !self.leases.contains_key(lease);
        let under =
            |change: &TransactionOp| matches!(change, TransactionOp::Put { lease: Some(lease), .. } if gone(lease));
        if transaction.operations.iter().any(under) {
            return Err(Error::LeaseGone);
        }
        self.revision += 1;
        let revision = self.revision;
        let mut changes = Vec::with_capacity(transaction.operations.len());
        for operation in transaction.operations {
            match operation {
                TransactionOp::Put { key, value, lease } => {
                    let created = self.pairs.get(&key).map_or(revision, |(pair, _)| pair.created);
                    let pair = Pair { key: key.clone(), value, created, modified: revision };
                    changes.push(KeyChange::Put(pair.clone()));
                    self.pairs.insert(key, (pair, lease));
                }
                TransactionOp::Delete { key } => {
                    if self.pairs.remove(&key).is_some() {
                        changes.push(KeyChange::Deleted { key });
                    }
                }
            }
        }
        self.history.add([(revision, changes)]);
        Ok(Committed::Done(revision))
    }
}

#[async_trait]
impl Store for Memory {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error> {
        Ok(self.state().pairs.get(key).map(|(pair, _)| pair.clone()))
    }

    async fn range(&self, range: &KeyRange) -> Result<RangeResult, Error> {
        let state = self.state();
        if range.is_empty() {
            return Ok(RangeResult { revision: state.revision, ..RangeResult::default() });
        }
        let found = state.pairs.range(range.from.clone()..range.to.clone());
        let mut found: Box<dyn Iterator<Item = _>> =
            if range.descending { Box::new(found.rev()) } else { Box::new(found) };
        let limit = range.limit.unwrap_or(usize::MAX);
        let shown = |(_, (pair, _)): (&String, &(Pair, Option<LeaseId>))| match range.keys_only {
            true => Pair { value: Vec::new(), key: pair.key.clone(), ..*pair },
            false => pair.clone(),
        };
        let pairs: Vec<Pair> = found.by_ref().take(limit).map(shown).collect();
        Ok(RangeResult { more: found.next().is_some(), pairs, revision: state.revision })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let transaction = transaction.validated(LIMITS)?;
        self.state().commit(transaction)
    }

    async fn lease(&self, _: Duration) -> Result<Lease, Error> {
        let (lost, heard) = watch::channel(false);
        let (held, dropped) = oneshot::channel::<()>();
        let id = {
            let mut state = self.state();
            state.last_lease += 1;
            let id = state.last_lease;
            state.leases.insert(id, lost);
            id
        };
        // Holder and store are in this process, so the lease lasts until it is dropped.
        let state = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let _ = dropped.await;
            end_lease(&state, id);
        });
        Ok(Lease { id, lost: heard, _held: held })
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, Error> {
        Ok(StoreWatch(WatchSource::History(self.state().history.watch(prefix, after))))
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        let state = self.state();
        state.history.skip_to(before.saturating_sub(1).min(state.revision));
        Ok(())
    }

    fn limits(&self) -> TransactionLimits {
        LIMITS
    }
}

fn end_lease(state: &Weak<Mutex<MemoryState>>, lease: LeaseId) {
    let Some(state) = state.upgrade() else { return };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lost) = state.leases.remove(&lease) {
        lost.send_replace(true);
    }
    let under: Vec<String> =
        state.pairs.iter().filter(|(_, (_, under))| *under == Some(lease)).map(|(key, _)| key.clone()).collect();
    if !under.is_empty() {
        let changes = under.into_iter().map(|key| TransactionOp::Delete { key }).collect();
        // Can't fail: it has no conditions and no leases.
        let _ = state.commit(Transaction { operations: changes, ..Transaction::default() });
    }
}
