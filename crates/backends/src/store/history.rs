//! [`History`]: the last changes of a store in this process, and who watches them.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::{Change, Error, News, Revision};

/// How many commits are kept for those who come back.
const KEPT: usize = 10_000;

#[derive(Default)]
pub struct History {
    commits: VecDeque<(Revision, Vec<Change>)>,
    /// All up to this one are thrown away.
    compacted: Revision,
    watchers: Vec<Watcher>,
}

struct Watcher {
    prefix: String,
    sender: mpsc::UnboundedSender<Result<News, Error>>,
}

impl History {
    pub fn add(&mut self, revision: Revision, changes: Vec<Change>) {
        self.watchers.retain(|watcher| match below(&changes, &watcher.prefix) {
            changes if changes.is_empty() => !watcher.sender.is_closed(),
            changes => watcher.sender.send(Ok(News::Changes { revision, changes })).is_ok(),
        });
        self.commits.push_back((revision, changes));
        if self.commits.len() > KEPT
            && let Some((oldest, _)) = self.commits.pop_front()
        {
            self.compacted = oldest;
        }
    }

    pub fn watch(&mut self, prefix: &str, after: Revision, sender: mpsc::UnboundedSender<Result<News, Error>>) {
        if after < self.compacted {
            // The receiver may be gone already; then nobody misses it.
            let _ = sender.send(Ok(News::Gap { revision: self.compacted }));
        }
        for (revision, changes) in self.commits.iter().filter(|(revision, _)| *revision > after) {
            let changes = below(changes, prefix);
            if !changes.is_empty() {
                let _ = sender.send(Ok(News::Changes { revision: *revision, changes }));
            }
        }
        self.watchers.push(Watcher { prefix: prefix.to_owned(), sender });
    }

    pub fn compact(&mut self, before: Revision) {
        while self.commits.front().is_some_and(|(revision, _)| *revision < before) {
            self.commits.pop_front();
        }
        self.compacted = self.compacted.max(before.saturating_sub(1));
    }
}

fn below(changes: &[Change], prefix: &str) -> Vec<Change> {
    let key = |change: &Change| match change {
        Change::Put(pair) => pair.key.starts_with(prefix),
        Change::Deleted { key } => key.starts_with(prefix),
    };
    changes.iter().filter(|change| key(change)).cloned().collect()
}
