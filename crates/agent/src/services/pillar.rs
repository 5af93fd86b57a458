//! [`PillarCache`]: this target's pillar, compiled once in a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Value};
use rocksalt_modules::machine::{HostSystem, Probe, StateRequest, TargetPillar};
use rocksalt_modules::{Error, Result};

pub struct PillarCache {
    host: Weak<HostSystem>,
    state: Mutex<PillarState>,
}

#[derive(Default)]
struct PillarState {
    compiled: Option<Arc<Map>>,
    saltenv: String,
    pillarenv: String,
    /// Pillar data from the request, merged over the rest.
    given: Map,
}

impl PillarCache {
    pub fn new(host: Weak<HostSystem>, compiled: Option<Map>) -> PillarCache {
        let state = PillarState { compiled: compiled.map(Arc::new), ..PillarState::default() };
        PillarCache { host, state: Mutex::new(state) }
    }

    /// Takes the environments and the pillar data of a request; the next read compiles the pillar for them.
    pub fn set_request(&self, request: &StateRequest) {
        *self.state() = PillarState {
            compiled: None,
            saltenv: request.saltenv.clone().unwrap_or_default(),
            pillarenv: request.pillarenv.clone().unwrap_or_default(),
            given: request.pillar.clone(),
        };
    }

    fn state(&self) -> MutexGuard<'_, PillarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TargetPillar for PillarCache {
    fn pillar(&self) -> Result<Arc<Map>> {
        let mut state = self.state();
        if let Some(compiled) = &state.compiled {
            return Ok(Arc::clone(compiled));
        }
        let host = super::upgrade(&self.host)?;
        let ask = Ask::Pillar {
            grains: (*host.grains()).clone(),
            saltenv: state.saltenv.clone(),
            pillarenv: state.pillarenv.clone(),
            given: state.given.clone(),
        };
        let Value::Map(compiled) = host.controller().ask(ask)? else {
            return Err(Error::failed("the controller's answer to a request for the pillar is no map"));
        };
        let compiled = Arc::new(compiled);
        state.compiled = Some(Arc::clone(&compiled));
        Ok(compiled)
    }

    fn refresh(&self) {
        self.state().compiled = None;
    }
}
