//! [`Watch`]: what is committed, told in order.

use tokio::sync::mpsc;

use super::history::Cursor;
use super::{Error, Pair, Revision};

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

impl Change {
    pub fn key(&self) -> &str {
        match self {
            Change::Put(pair) => &pair.key,
            Change::Deleted { key } => key,
        }
    }
}

/// News in order; an error ends it.
///
/// Nothing is kept for a slow reader alone: one who is too slow for what the store keeps is told of a gap.
pub struct Watch(pub(super) Source);

pub(super) enum Source {
    History(Cursor),
    Stream(mpsc::Receiver<Result<News, Error>>),
}

impl Watch {
    /// `None` after an error, and when the store is closed. May be given up while it waits, without a loss.
    pub async fn next(&mut self) -> Option<Result<News, Error>> {
        match &mut self.0 {
            Source::History(cursor) => cursor.next().await.map(Ok),
            Source::Stream(stream) => stream.recv().await,
        }
    }
}
