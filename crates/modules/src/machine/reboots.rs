//! [`Reboots`]: how a step has the machine restarted without ending the run that it is part of.

use std::sync::{Mutex, PoisonError};

use rocksalt_core::Map;

/// A wish of a step, which the run sees to when the step has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RebootWish {
    /// For those who are logged in.
    pub message: Option<String>,
    /// How many seconds the restart may take.
    pub wait: f64,
}

#[derive(Default)]
pub struct Reboots(Mutex<State>);

#[derive(Default)]
struct State {
    offered: bool,
    wish: Option<RebootWish>,
    announced: Option<Map>,
}

impl Reboots {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run says that it can go on after a restart; false if another does already, of which it is a part.
    pub fn offer(&self) -> bool {
        !std::mem::replace(&mut self.state().offered, true)
    }

    pub fn withdraw(&self) {
        let mut state = self.state();
        (state.offered, state.wish) = (false, None);
    }

    /// A step's wish; false if there is no run that could go on afterwards.
    pub fn wish(&self, wish: RebootWish) -> bool {
        let mut state = self.state();
        if state.offered {
            state.wish = Some(wish);
        }
        state.offered
    }

    pub fn wished(&self) -> Option<RebootWish> {
        self.state().wish.clone()
    }

    /// All is ready for the restart: what the controller must know to go on.
    pub fn announce(&self, what: Map) {
        self.state().announced = Some(what);
    }

    pub fn announced(&self) -> Option<Map> {
        self.state().announced.clone()
    }
}
