//! Stores: persistent data of the controller, such as jobs, returns, events and tokens.
//!
//! One trait with etcd's semantics, so that a single machine with a file and a cluster with etcd look the same to the
//! code above. To add a store: a sibling file, a line in [`open`], and it must pass the conformance suite.

mod disk;
mod error;
mod etcd;
mod history;
mod lease;
mod memory;
mod range;
mod transaction;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use error::Error;
pub use lease::{Lease, LeaseId};
pub use range::{KeyRange, RangeResult};
pub use transaction::{Committed, Precondition, Transaction, TransactionLimits, TransactionOp};
pub use watch::{KeyChange, StoreWatch, WatchEvent};

/// The names of the stores.
pub const KINDS: [&str; 3] = ["disk", "etcd", "memory"];

/// The number of a commit; each commit has a higher one than all before it.
pub type Revision = u64;

/// Keys are printable ASCII with `/` between their parts; values are opaque bytes.
#[async_trait]
pub trait Store: Send + Sync {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error>;

    /// Lists a range, as of one revision.
    async fn range(&self, range: &KeyRange) -> Result<RangeResult, Error>;

    /// Commits a transaction atomically. It is durable when this returns.
    ///
    /// After an error nothing was done, except maybe after [`Error::OutcomeUnknown`]: then read before retrying.
    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error>;

    /// Creates a lease, kept alive until it is dropped or the process ends. Its keys are deleted with it.
    ///
    /// `memory` and `disk` ignore the time to live: only this process can hold a lease there.
    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error>;

    /// Watches the commits below a prefix after a revision: in order, without gaps or duplicates.
    ///
    /// It survives broken streams, failed members and leader changes. If the history it needs was compacted, it yields
    /// [`WatchEvent::Gap`], and the reader must list again.
    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, Error>;

    /// Discards the history before a revision: watches from before it get a gap.
    async fn compact(&self, before: Revision) -> Result<(), Error>;

    /// The limits of one transaction; a larger one fails with [`Error::TooLarge`].
    fn limits(&self) -> TransactionLimits;
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub key: String,
    pub value: Vec<u8>,
    /// The commit that created it.
    pub created: Revision,
    /// The commit that last wrote it, for compare-and-swap.
    pub modified: Revision,
}

/// Settings of all kinds of stores.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `disk`: the file. Its directory is created if needed, and must be accessible to this user only.
    pub path: PathBuf,
    /// `etcd`: URLs of its members.
    pub endpoints: Vec<String>,
    /// `etcd`: certificates, in PEM files. All three are needed for `https`.
    pub ca: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// `etcd`: prefix of every key, for clusters that share one etcd.
    pub prefix: String,
    /// `etcd`: time limit of a request with all its retries; ten seconds by default.
    pub time_limit: Option<Duration>,
}

pub async fn open(kind: &str, settings: &Settings) -> Result<Arc<dyn Store>, Error> {
    match kind {
        "disk" => Ok(Arc::new(disk::Disk::open(&settings.path).await?)),
        "etcd" => Ok(Arc::new(etcd::Etcd::open(settings).await?)),
        "memory" => Ok(Arc::new(memory::Memory::default())),
        other => Err(Error::unknown(other)),
    }
}
