//! Where the controller keeps what must outlive it: jobs, returns, events, tokens.
//!
//! One trait with etcd's semantics (decision D11), so that one machine with a file and a cluster with etcd are the
//! same to everybody above. To add a store: a sibling file, a line in [`open`], and it passes the conformance suite.

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
pub use range::{Listing, Range};
pub use transaction::{Committed, Condition, Limits, Operation, Transaction};
pub use watch::{Change, News, Watch};

/// The names of the stores.
pub const KINDS: [&str; 3] = ["disk", "etcd", "memory"];

/// Counts the commits of a store. Each commit has a higher one than all before it.
pub type Revision = u64;

/// Keys are texts of printable ASCII with `/` between their parts; values are bytes that only the writer understands.
#[async_trait]
pub trait Store: Send + Sync {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error>;

    /// All that a range names, as of one revision.
    async fn range(&self, range: &Range) -> Result<Listing, Error>;

    /// Does all of it or nothing. Once it has answered, nothing of it is lost, whatever dies.
    ///
    /// After an error nothing was done, unless it is [`Error::Unsure`]: then look before doing it again.
    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error>;

    /// A lease that is kept alive as long as the process lives and holds it. Keys put under it go with it.
    ///
    /// What is in this process or belongs to it alone (`memory`, `disk`) has no use for the time: there the lease ends
    /// with its holder, or with the process.
    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error>;

    /// What is committed below a prefix after a revision, in order, without gap or double. What was before is not told.
    ///
    /// It goes on over broken streams, dead endpoints and changes of the leader; where too much was thrown away
    /// meanwhile it says [`News::Gap`], and the listener lists again.
    async fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, Error>;

    /// Throws the history before a revision away: whoever watches from before it is told of a gap.
    async fn compact(&self, before: Revision) -> Result<(), Error>;

    /// How much it takes in one transaction; more is refused with [`Error::TooLarge`].
    fn limits(&self) -> Limits;
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub key: String,
    pub value: Vec<u8>,
    /// The commit that made it.
    pub created: Revision,
    /// The commit that wrote it last: the fence that a writer compares.
    pub modified: Revision,
}

/// Where a store is, and how to reach it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `disk`: the file. The directory that it is in must be ours alone; it is made if it isn't there.
    pub path: PathBuf,
    /// `etcd`: URLs of its members.
    pub endpoints: Vec<String>,
    /// `etcd`: certificates, in PEM files. All three are needed for `https`.
    pub ca: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// `etcd`: before every key, for clusters that share one.
    pub prefix: String,
    /// `etcd`: how long a request may take, all attempts together; ten seconds without it.
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
