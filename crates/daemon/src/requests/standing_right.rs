//! [`StandingRight`]: the right to a stream, which can end with a reload.

use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::request::Needs;

use super::{Caller, Loaded, RequestService};
use crate::access::AccessGrant;

/// The right to read events, as it was granted when the stream began.
pub struct StandingRight {
    requests: Arc<RequestService>,
    caller: Caller,
    grant: AccessGrant,
    /// The configuration under which it was last checked.
    checked: Mutex<Arc<Loaded>>,
}

impl StandingRight {
    pub(super) fn new(
        requests: &Arc<RequestService>,
        loaded: &Arc<Loaded>,
        caller: &Caller,
        grant: AccessGrant,
    ) -> StandingRight {
        let (requests, checked) = (Arc::clone(requests), Mutex::new(Arc::clone(loaded)));
        StandingRight { requests, caller: caller.clone(), grant, checked }
    }

    /// Whether a new stream of this caller would get the same events. Rules are evaluated only after a reload.
    pub async fn holds(&self) -> bool {
        let now = self.requests.loaded();
        let known = Arc::clone(&self.checked.lock().unwrap_or_else(PoisonError::into_inner));
        if Arc::ptr_eq(&known, &now) {
            return true;
        }
        let grant = now.access.check(&self.caller, &Needs::Events, &now.controller, self.requests.ledger()).await;
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = now;
        grant.is_ok_and(|grant| grant == self.grant)
    }
}
