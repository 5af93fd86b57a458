//! [`RunNotes`]: data that the steps of one run share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rocksalt_core::Map;

use super::Reboots;

/// Empty at the start of a run.
#[derive(Default)]
pub struct RunNotes {
    values: Mutex<Map>,
    reboots: Reboots,
}

impl RunNotes {
    /// Values by name, such as the lines of `file.accumulated`.
    pub fn lock(&self) -> MutexGuard<'_, Map> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives a step's request for a reboot in the middle of the run.
    pub fn reboots(&self) -> &Reboots {
        &self.reboots
    }
}
