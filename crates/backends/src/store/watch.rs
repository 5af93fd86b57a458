//! [`StoreWatch`]: the commits of a store, in order.

use tokio::sync::mpsc;

use super::history::HistoryCursor;
use super::{Error, Pair, Revision};

/// An item of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// The changes of one commit below the prefix.
    Changes { revision: Revision, changes: Vec<KeyChange> },
    /// The history up to this revision was compacted: list again, then continue from here.
    Gap { revision: Revision },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    Put(Pair),
    Deleted { key: String },
}

impl KeyChange {
    pub fn key(&self) -> &str {
        match self {
            KeyChange::Put(pair) => &pair.key,
            KeyChange::Deleted { key } => key,
        }
    }
}

/// A stream of commits in order; an error ends it.
///
/// It has no buffer of its own for slow readers: a reader that falls behind the store's history gets a gap.
pub struct StoreWatch(pub(super) WatchSource);

pub(super) enum WatchSource {
    History(HistoryCursor),
    Stream(mpsc::Receiver<Result<WatchEvent, Error>>),
}

impl StoreWatch {
    /// The next item; `None` after an error, and when the store is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<WatchEvent, Error>> {
        match &mut self.0 {
            WatchSource::History(cursor) => cursor.next().await.map(Ok),
            WatchSource::Stream(stream) => stream.recv().await,
        }
    }
}
