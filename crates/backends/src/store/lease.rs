//! [`Lease`]: keys that are deleted when their writer ends.

use tokio::sync::{oneshot, watch};

pub type LeaseId = i64;

/// A lease; dropping it ends it.
pub struct Lease {
    pub id: LeaseId,
    /// Becomes true when the lease is lost: its holder must stop relying on it.
    pub lost: watch::Receiver<bool>,
    /// Dropped with the lease, which notifies the store.
    pub(super) _held: oneshot::Sender<()>,
}

impl Lease {
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }
}
