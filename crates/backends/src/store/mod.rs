//! Where the controller keeps what must outlive it: jobs, returns, events, tokens.
//!
//! One trait with etcd's semantics (decision D11), so that one machine with a file and a cluster with etcd are the
//! same to everybody above. To add a store: a sibling file, a line in [`open`], and it passes the conformance suite.

mod error;
mod history;
mod memory;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use error::Error;

/// The names of the stores.
pub const KINDS: [&str; 3] = ["disk", "etcd", "memory"];

/// Counts the commits of a store. Each commit has a higher one than all before it.
pub type Revision = u64;

/// Keys are texts with `/` between their parts; values are bytes that only the writer understands.
#[async_trait]
pub trait Store: Send + Sync {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error>;

    /// All that a range names, as of one revision.
    async fn range(&self, range: &Range) -> Result<Listing, Error>;

    /// Does all of it or nothing. Once it has answered, nothing of it is lost, whatever dies.
    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error>;

    /// A lease that is kept alive as long as the process lives and holds it. Keys put under it go with it.
    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error>;

    /// What is committed below a prefix after a revision, in order, without gap or double. What was before is not told.
    ///
    /// It goes on over broken streams, dead endpoints and changes of the leader; where too much was thrown away
    /// meanwhile it says [`News::Gap`], and the listener lists again.
    async fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, Error>;

    /// Throws the history before a revision away: whoever watches from before it is told of a gap.
    async fn compact(&self, before: Revision) -> Result<(), Error>;
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

/// The keys from `from` (with it) up to `to` (without it).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub from: String,
    pub to: String,
    /// At most so many; all without it.
    pub limit: Option<usize>,
    /// The last ones first.
    pub backwards: bool,
    /// Leave the values out.
    pub keys_only: bool,
}

impl Range {
    /// All keys that begin so.
    pub fn prefix(prefix: &str) -> Range {
        Range { from: prefix.to_owned(), to: after(prefix), ..Range::default() }
    }

    #[must_use]
    pub fn limit(mut self, limit: usize) -> Range {
        self.limit = Some(limit);
        self
    }

    #[must_use]
    pub fn backwards(mut self) -> Range {
        self.backwards = true;
        self
    }

    #[must_use]
    pub fn keys_only(mut self) -> Range {
        self.keys_only = true;
        self
    }
}

/// The first key behind all that begin with a prefix. Keys are ASCII, so the last byte can grow.
fn after(prefix: &str) -> String {
    let mut bytes = prefix.as_bytes().to_vec();
    match bytes.pop() {
        Some(last) if last < 0x7f => bytes.push(last + 1),
        // Nothing comes behind DEL, and nobody names a key so; of no prefix at all everything is behind.
        _ => bytes = vec![0x7f],
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub pairs: Vec<Pair>,
    /// More than `limit` are there.
    pub more: bool,
    /// As of which revision: watch from here.
    pub revision: Revision,
}

/// What is done together, if all conditions hold.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub conditions: Vec<Condition>,
    pub changes: Vec<Operation>,
}

impl Transaction {
    #[must_use]
    pub fn put(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Transaction {
        self.changes.push(Operation::Put { key: key.into(), value: value.into(), lease: None });
        self
    }

    #[must_use]
    pub fn put_under(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>, lease: &Lease) -> Transaction {
        self.changes.push(Operation::Put { key: key.into(), value: value.into(), lease: Some(lease.id) });
        self
    }

    #[must_use]
    pub fn delete(mut self, key: impl Into<String>) -> Transaction {
        self.changes.push(Operation::Delete { key: key.into() });
        self
    }

    /// Only if the key isn't there.
    #[must_use]
    pub fn if_absent(mut self, key: impl Into<String>) -> Transaction {
        self.conditions.push(Condition::Absent { key: key.into() });
        self
    }

    /// Only if the key was last written by this commit.
    #[must_use]
    pub fn if_at(mut self, key: impl Into<String>, revision: Revision) -> Transaction {
        self.conditions.push(Condition::At { key: key.into(), revision });
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Absent { key: String },
    At { key: String, revision: Revision },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Put { key: String, value: Vec<u8>, lease: Option<LeaseId> },
    Delete { key: String },
}

/// How a transaction went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Done(Revision),
    /// A condition did not hold, and nothing was done.
    Conflict,
}

pub type LeaseId = i64;

/// A lease that somebody holds; dropped, it is given back.
pub struct Lease {
    pub id: LeaseId,
    /// Becomes true when it is lost: whoever relied on it must stop.
    pub lost: tokio::sync::watch::Receiver<bool>,
    /// Dropped with the lease; the store hears it.
    pub(crate) _held: tokio::sync::oneshot::Sender<()>,
}

/// What a watch hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The changes of one commit below the prefix.
    Changes { revision: Revision, changes: Vec<Change> },
    /// What happened after the revision asked for is thrown away up to this one: list again, then go on from here.
    Gap { revision: Revision },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put(Pair),
    Deleted { key: String },
}

/// News in order; an error ends it. What a slow reader has not taken yet waits in memory: take it soon.
pub struct Watch(pub(crate) tokio::sync::mpsc::UnboundedReceiver<Result<News, Error>>);

impl Watch {
    /// `None` after an error, and when the store is closed.
    pub async fn next(&mut self) -> Option<Result<News, Error>> {
        self.0.recv().await
    }
}

/// Where a store is, and how to reach it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `disk`: the file.
    pub path: PathBuf,
    /// `etcd`: URLs of its members.
    pub endpoints: Vec<String>,
    /// `etcd`: certificates, in PEM files.
    pub ca: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// `etcd`: before every key, for clusters that share one.
    pub prefix: String,
}

pub async fn open(kind: &str, _settings: &Settings) -> Result<Arc<dyn Store>, Error> {
    match kind {
        "memory" => Ok(Arc::new(memory::Memory::default())),
        other => Err(Error::unknown(other)),
    }
}
