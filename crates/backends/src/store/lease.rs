//! [`Lease`]: keys that go when their writer does.

use tokio::sync::{oneshot, watch};

pub type LeaseId = i64;

/// A lease that somebody holds; dropped, it is given back.
pub struct Lease {
    pub id: LeaseId,
    /// Becomes true when it is lost: whoever relied on it must stop.
    pub lost: watch::Receiver<bool>,
    /// Dropped with the lease; the store hears it.
    pub(super) _held: oneshot::Sender<()>,
}

impl Lease {
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }
}
