//! [`Signal`]: stops a running call from another thread.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal as Number, kill_process_group};

use super::StopSignal;

/// Shared between a call's thread and the threads that may stop it.
#[derive(Default)]
pub struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
struct SignalState {
    cancelled: bool,
    /// Leaders of the process groups that the call started.
    children: BTreeSet<u32>,
}

impl Signal {
    /// Marks the call as cancelled, and signals the processes that it started.
    pub fn stop(&self, how: StopSignal) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled = true;
        for child in &state.children {
            signal_group(*child, how);
        }
        self.changed.notify_all();
    }

    pub fn cancelled(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).cancelled
    }

    /// Waits for this time, or until the call is cancelled. Returns true if it was cancelled.
    pub fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.cancelled {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.cancelled
    }

    /// Registers a child. If the call was cancelled meanwhile, signals it at once.
    pub(super) fn started(&self, child: u32) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.children.insert(child);
        if state.cancelled {
            signal_group(child, StopSignal::Kill);
        }
    }

    pub(super) fn ended(&self, child: u32) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).children.remove(&child);
    }
}

/// Signals a whole process group; one that has ended is no error.
pub(super) fn signal_group(leader: u32, how: StopSignal) {
    let number = match how {
        StopSignal::Term => Number::TERM,
        StopSignal::Kill => Number::KILL,
    };
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, number);
    }
}
