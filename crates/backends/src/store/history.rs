//! [`ChangeHistory`]: the last changes of a store in memory, shared by all watches.
//!
//! Each watch has a cursor and reads at its own pace, so memory is bounded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{KeyChange, Revision, WatchEvent};

/// How much history is kept for slow and resuming watches.
#[derive(Clone, Copy, Debug)]
pub struct HistoryBounds {
    pub commits: usize,
    pub bytes: usize,
}

impl Default for HistoryBounds {
    fn default() -> HistoryBounds {
        HistoryBounds { commits: 10_000, bytes: 16 << 20 }
    }
}

#[derive(Clone)]
pub struct ChangeHistory(Arc<HistoryShared>);

struct HistoryShared {
    log: Mutex<HistoryLog>,
    bounds: HistoryBounds,
    /// Wakes waiting cursors.
    changed: watch::Sender<()>,
}

struct HistoryLog {
    commits: VecDeque<HistoryCommit>,
    bytes: usize,
    /// Commits up to this one are no longer kept.
    compacted: Revision,
    closed: bool,
}

struct HistoryCommit {
    revision: Revision,
    changes: Vec<KeyChange>,
    bytes: usize,
}

impl ChangeHistory {
    /// An empty history that begins after a revision.
    pub fn new(revision: Revision, bounds: HistoryBounds) -> ChangeHistory {
        let log = HistoryLog { commits: VecDeque::new(), bytes: 0, compacted: revision, closed: false };
        ChangeHistory(Arc::new(HistoryShared { log: Mutex::new(log), bounds, changed: watch::Sender::new(()) }))
    }

    pub fn add(&self, commits: impl IntoIterator<Item = (Revision, Vec<KeyChange>)>) {
        let mut log = self.0.log();
        for (revision, changes) in commits {
            let bytes = 64 + changes.iter().map(size).sum::<usize>();
            log.bytes += bytes;
            log.commits.push_back(HistoryCommit { revision, changes, bytes });
        }
        while log.commits.len() > self.0.bounds.commits || log.bytes > self.0.bounds.bytes {
            log.drop_oldest();
        }
        drop(log);
        self.0.changed.send_replace(());
    }

    /// Drops all commits up to a revision: cursors before it get a gap.
    pub fn skip_to(&self, revision: Revision) {
        let mut log = self.0.log();
        while log.commits.front().is_some_and(|commit| commit.revision <= revision) {
            log.drop_oldest();
        }
        log.compacted = log.compacted.max(revision);
        drop(log);
        self.0.changed.send_replace(());
    }

    pub fn close(&self) {
        self.0.log().closed = true;
        self.0.changed.send_replace(());
    }

    pub fn watch(&self, prefix: &str, after: Revision) -> HistoryCursor {
        let changed = self.0.changed.subscribe();
        HistoryCursor { shared: Arc::clone(&self.0), prefix: prefix.to_owned(), after, changed }
    }
}

impl HistoryShared {
    fn log(&self) -> MutexGuard<'_, HistoryLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HistoryLog {
    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.commits.pop_front() {
            self.bytes -= oldest.bytes;
            self.compacted = self.compacted.max(oldest.revision);
        }
    }
}

/// The position of one watch.
pub struct HistoryCursor {
    shared: Arc<HistoryShared>,
    prefix: String,
    after: Revision,
    changed: watch::Receiver<()>,
}

impl HistoryCursor {
    /// The next event; `None` when the store is closed and all events are read.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            // Mark as seen before looking, so that a later change wakes again.
            self.changed.borrow_and_update();
            match self.poll() {
                CursorPoll::Event(news) => return Some(news),
                CursorPoll::Closed => return None,
                CursorPoll::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }

    fn poll(&mut self) -> CursorPoll {
        let log = self.shared.log();
        if self.after < log.compacted {
            self.after = log.compacted;
            return CursorPoll::Event(WatchEvent::Gap { revision: log.compacted });
        }
        let first = log.commits.partition_point(|commit| commit.revision <= self.after);
        for commit in log.commits.range(first..) {
            self.after = commit.revision;
            let below = commit.changes.iter().filter(|change| change.key().starts_with(&self.prefix));
            let changes: Vec<KeyChange> = below.cloned().collect();
            if !changes.is_empty() {
                return CursorPoll::Event(WatchEvent::Changes { revision: commit.revision, changes });
            }
        }
        if log.closed { CursorPoll::Closed } else { CursorPoll::Nothing }
    }
}

enum CursorPoll {
    Event(WatchEvent),
    Nothing,
    Closed,
}

fn size(change: &KeyChange) -> usize {
    match change {
        KeyChange::Put(pair) => 96 + pair.key.len() + pair.value.len(),
        KeyChange::Deleted { key } => 48 + key.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Pair;

    fn put(revision: Revision, size: usize) -> (Revision, Vec<KeyChange>) {
        let pair = Pair { key: "a/b".into(), value: vec![0; size], created: 1, modified: revision };
        (revision, vec![KeyChange::Put(pair)])
    }

    fn revisions(cursor: &mut HistoryCursor) -> Vec<(bool, Revision)> {
        let news = std::iter::from_fn(|| match cursor.poll() {
            CursorPoll::Event(news) => Some(news),
            _ => None,
        });
        news.map(|news| match news {
            WatchEvent::Changes { revision, .. } => (true, revision),
            WatchEvent::Gap { revision } => (false, revision),
        })
        .collect()
    }

    #[test]
    fn history_is_bounded_by_count_and_by_bytes() {
        let history = ChangeHistory::new(0, HistoryBounds { commits: 3, bytes: 10_000 });
        let mut slow = history.watch("a/", 0);
        history.add((1..=5).map(|revision| put(revision, 1)));
        assert_eq!(revisions(&mut slow), [(false, 2), (true, 3), (true, 4), (true, 5)]);
        history.add((6..=7).map(|revision| put(revision, 6_000)));
        assert_eq!(revisions(&mut slow), [(false, 6), (true, 7)]);
        assert_eq!(history.0.log().commits.len(), 1);
        // A commit larger than the bounds is not kept.
        history.add([put(8, 20_000)]);
        assert_eq!(revisions(&mut slow), [(false, 8)]);
        let log = history.0.log();
        assert_eq!((log.bytes, log.commits.len()), (0, 0));
    }

    #[test]
    fn a_watch_begins_after_the_given_revision() {
        let history = ChangeHistory::new(10, HistoryBounds::default());
        history.add((11..=13).map(|revision| put(revision, 1)));
        assert_eq!(revisions(&mut history.watch("a/", 12)), [(true, 13)]);
        assert_eq!(revisions(&mut history.watch("b/", 12)), []);
        assert_eq!(revisions(&mut history.watch("", 9)), [(false, 10), (true, 11), (true, 12), (true, 13)]);
        let mut ahead = history.watch("", 14);
        assert_eq!(revisions(&mut ahead), []);
        history.add((14..=15).map(|revision| put(revision, 1)));
        assert_eq!(revisions(&mut ahead), [(true, 15)]);
        history.skip_to(20);
        assert_eq!(revisions(&mut ahead), [(false, 20)]);
    }

    #[tokio::test]
    async fn closing_ends_a_watch_that_waits() {
        let history = ChangeHistory::new(0, HistoryBounds::default());
        let mut cursor = history.watch("", 0);
        let waiting = tokio::spawn(async move { cursor.next().await });
        tokio::task::yield_now().await;
        history.close();
        assert_eq!(waiting.await.expect("no panic"), None);
    }
}
