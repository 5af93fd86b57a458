//! [`History`]: the last changes of a store in this process, once for all who watch.
//!
//! Whoever watches has a place in it and reads on at their own pace, so memory is bounded whatever they do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Change, News, Revision};

/// How much is kept for those who come back or are slow.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub commits: usize,
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { commits: 10_000, bytes: 16 << 20 }
    }
}

#[derive(Clone)]
pub struct History(Arc<Shared>);

struct Shared {
    kept: Mutex<Kept>,
    bounds: Bounds,
    /// Changes with whatever somebody who waits wants to know of.
    bell: watch::Sender<()>,
}

struct Kept {
    commits: VecDeque<Commit>,
    bytes: usize,
    /// All up to this one are thrown away.
    compacted: Revision,
    closed: bool,
}

struct Commit {
    revision: Revision,
    changes: Vec<Change>,
    bytes: usize,
}

impl History {
    /// One that knows nothing of what was before this revision.
    pub fn new(revision: Revision, bounds: Bounds) -> History {
        let kept = Kept { commits: VecDeque::new(), bytes: 0, compacted: revision, closed: false };
        History(Arc::new(Shared { kept: Mutex::new(kept), bounds, bell: watch::Sender::new(()) }))
    }

    pub fn add(&self, commits: impl IntoIterator<Item = (Revision, Vec<Change>)>) {
        let mut kept = self.0.kept();
        for (revision, changes) in commits {
            let bytes = 64 + changes.iter().map(size).sum::<usize>();
            kept.bytes += bytes;
            kept.commits.push_back(Commit { revision, changes, bytes });
        }
        while kept.commits.len() > self.0.bounds.commits || kept.bytes > self.0.bounds.bytes {
            kept.forget_oldest();
        }
        drop(kept);
        self.0.bell.send_replace(());
    }

    /// Whoever is behind this revision is told of a gap: what was committed up to it isn't known.
    pub fn skip_to(&self, revision: Revision) {
        let mut kept = self.0.kept();
        while kept.commits.front().is_some_and(|commit| commit.revision <= revision) {
            kept.forget_oldest();
        }
        kept.compacted = kept.compacted.max(revision);
        drop(kept);
        self.0.bell.send_replace(());
    }

    pub fn close(&self) {
        self.0.kept().closed = true;
        self.0.bell.send_replace(());
    }

    pub fn watch(&self, prefix: &str, after: Revision) -> Cursor {
        let bell = self.0.bell.subscribe();
        Cursor { shared: Arc::clone(&self.0), prefix: prefix.to_owned(), after, bell }
    }
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.commits.pop_front() {
            self.bytes -= oldest.bytes;
            self.compacted = self.compacted.max(oldest.revision);
        }
    }
}

/// The place of one who watches.
pub struct Cursor {
    shared: Arc<Shared>,
    prefix: String,
    after: Revision,
    bell: watch::Receiver<()>,
}

impl Cursor {
    /// `None` when the store is closed and all is told.
    pub async fn next(&mut self) -> Option<News> {
        loop {
            // Marked as heard before looking: what comes after the look rings again.
            self.bell.borrow_and_update();
            match self.look() {
                Look::News(news) => return Some(news),
                Look::Closed => return None,
                Look::Nothing => self.bell.changed().await.ok()?,
            }
        }
    }

    fn look(&mut self) -> Look {
        let kept = self.shared.kept();
        if self.after < kept.compacted {
            self.after = kept.compacted;
            return Look::News(News::Gap { revision: kept.compacted });
        }
        let first = kept.commits.partition_point(|commit| commit.revision <= self.after);
        for commit in kept.commits.range(first..) {
            self.after = commit.revision;
            let below = commit.changes.iter().filter(|change| change.key().starts_with(&self.prefix));
            let changes: Vec<Change> = below.cloned().collect();
            if !changes.is_empty() {
                return Look::News(News::Changes { revision: commit.revision, changes });
            }
        }
        if kept.closed { Look::Closed } else { Look::Nothing }
    }
}

enum Look {
    News(News),
    Nothing,
    Closed,
}

fn size(change: &Change) -> usize {
    match change {
        Change::Put(pair) => 96 + pair.key.len() + pair.value.len(),
        Change::Deleted { key } => 48 + key.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Pair;

    fn put(revision: Revision, size: usize) -> (Revision, Vec<Change>) {
        let pair = Pair { key: "a/b".into(), value: vec![0; size], created: 1, modified: revision };
        (revision, vec![Change::Put(pair)])
    }

    fn revisions(cursor: &mut Cursor) -> Vec<(bool, Revision)> {
        let news = std::iter::from_fn(|| match cursor.look() {
            Look::News(news) => Some(news),
            _ => None,
        });
        news.map(|news| match news {
            News::Changes { revision, .. } => (true, revision),
            News::Gap { revision } => (false, revision),
        })
        .collect()
    }

    #[test]
    fn it_is_bounded_by_count_and_by_bytes() {
        let history = History::new(0, Bounds { commits: 3, bytes: 10_000 });
        let mut slow = history.watch("a/", 0);
        history.add((1..=5).map(|revision| put(revision, 1)));
        assert_eq!(revisions(&mut slow), [(false, 2), (true, 3), (true, 4), (true, 5)]);
        history.add((6..=7).map(|revision| put(revision, 6_000)));
        assert_eq!(revisions(&mut slow), [(false, 6), (true, 7)]);
        assert_eq!(history.0.kept().commits.len(), 1);
        // One that is larger than all that may be kept is not kept.
        history.add([put(8, 20_000)]);
        assert_eq!(revisions(&mut slow), [(false, 8)]);
        let kept = history.0.kept();
        assert_eq!((kept.bytes, kept.commits.len()), (0, 0));
    }

    #[test]
    fn a_watch_begins_where_it_is_told() {
        let history = History::new(10, Bounds::default());
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
        let history = History::new(0, Bounds::default());
        let mut cursor = history.watch("", 0);
        let waiting = tokio::spawn(async move { cursor.next().await });
        tokio::task::yield_now().await;
        history.close();
        assert_eq!(waiting.await.expect("no panic"), None);
    }
}
