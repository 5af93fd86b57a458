//! [`RunNotes`]: what the steps of one run leave for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rocksalt_core::Map;

use super::Reboots;

/// Empty when a run begins.
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

    /// Where a step asks for a reboot in the middle of the run.
    pub fn reboots(&self) -> &Reboots {
        &self.reboots
    }
}
