//! [`Reboots`]: lets a step reboot the machine without ending its run.

use std::sync::{Mutex, PoisonError};

use rocksalt_core::Map;

/// A step's request, which the run carries out after the step.
#[derive(Clone, Debug, PartialEq)]
pub struct RebootRequest {
    /// Shown to logged-in users.
    pub message: Option<String>,
    /// How many seconds the reboot may take.
    pub wait: f64,
}

#[derive(Default)]
pub struct Reboots(Mutex<RebootState>);

#[derive(Default)]
struct RebootState {
    offered: bool,
    request: Option<RebootRequest>,
    announcement: Option<Map>,
}

impl Reboots {
    fn state(&self) -> std::sync::MutexGuard<'_, RebootState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares that a run can resume after a reboot. Returns false if an outer run has done so already.
    pub fn offer(&self) -> bool {
        !std::mem::replace(&mut self.state().offered, true)
    }

    pub fn withdraw(&self) {
        let mut state = self.state();
        (state.offered, state.request) = (false, None);
    }

    /// Stores a step's request. Returns false if no run could resume afterwards.
    pub fn request(&self, request: RebootRequest) -> bool {
        let mut state = self.state();
        if state.offered {
            state.request = Some(request);
        }
        state.offered
    }

    pub fn requested(&self) -> Option<RebootRequest> {
        self.state().request.clone()
    }

    /// Stores the data that the controller needs to resume the run, once everything is ready for the reboot.
    pub fn announce(&self, announcement: Map) {
        self.state().announcement = Some(announcement);
    }

    pub fn announced(&self) -> Option<Map> {
        self.state().announcement.clone()
    }
}
