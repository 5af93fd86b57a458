//! [`Slots`]: two runs of states never overlap on a target.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::JobId;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Functions that change a machine as a whole.
const RUNS: [&str; 7] =
    ["state.apply", "state.high", "state.highstate", "state.low", "state.single", "state.sls", "state.sls_id"];

/// Whether a function must have a target for itself. A dry run changes nothing, and yet must not see things half done.
pub fn exclusive(function: &str) -> bool {
    RUNS.contains(&function)
}

#[derive(Default)]
pub struct Slots(Mutex<HashMap<String, Slot>>);

#[derive(Clone, Default)]
struct Slot {
    turn: Arc<Turn<()>>,
    /// Who has it now.
    holder: Arc<Mutex<Option<JobId>>>,
}

/// A target that is ours until this is dropped.
pub struct Taken {
    holder: Arc<Mutex<Option<JobId>>>,
    _turn: OwnedMutexGuard<()>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Slots {
    fn slot(&self, target: &str) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Targets come and go; those that nobody holds or waits for need no place.
        if slots.len() > 1024 {
            slots.retain(|_, slot| Arc::strong_count(&slot.turn) > 1);
        }
        slots.entry(target.to_owned()).or_default().clone()
    }

    /// The target, or the job that has it.
    pub fn take(&self, target: &str, job: JobId) -> Result<Taken, Option<JobId>> {
        let slot = self.slot(target);
        match Arc::clone(&slot.turn).try_lock_owned() {
            Ok(turn) => Ok(slot.taken(turn, job)),
            Err(_) => Err(*slot.holder.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Waits for the target, in the order in which it was asked for.
    pub async fn wait(&self, target: &str, job: JobId) -> Taken {
        let slot = self.slot(target);
        let turn = Arc::clone(&slot.turn).lock_owned().await;
        slot.taken(turn, job)
    }
}

impl Slot {
    fn taken(self, turn: OwnedMutexGuard<()>, job: JobId) -> Taken {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        Taken { holder: self.holder, _turn: turn }
    }
}
