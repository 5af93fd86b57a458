//! A watch at etcd that goes on, whatever happens to the stream below it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::{self, StreamExt};

use super::Names;
use super::call::{Kind, Trouble, backoff};
use super::members::Members;
use super::messages::{DELETED, Event, WATCH, WatchCreate, WatchRequest, WatchResponse};
use crate::store::{Change, Error, News, Pair, Revision};

/// How much may wait for a slow reader; then etcd waits, too, until what is missing is compacted.
const WAITING: usize = 64;

/// How long it may take until a stream is there.
const OPENED: Duration = Duration::from_secs(5);

pub fn start(
    members: Arc<Members>,
    names: Arc<Names>,
    prefix: &str,
    after: Revision,
) -> mpsc::Receiver<Result<News, Error>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let (key, range_end) = names.below(prefix);
    let mut watcher = Watcher { members, names, key, range_end, next: after + 1, cluster: None, sender };
    tokio::spawn(async move {
        let sender = watcher.sender.clone();
        tokio::select! {
            () = sender.closed() => {}
            () = watcher.run() => {}
        }
    });
    receiver
}

struct Watcher {
    members: Arc<Members>,
    names: Arc<Names>,
    key: Vec<u8>,
    range_end: Vec<u8>,
    /// The first revision that was not told yet.
    next: Revision,
    /// Whose revisions these are.
    cluster: Option<u64>,
    sender: mpsc::Sender<Result<News, Error>>,
}

/// Why a stream ended.
enum Ended {
    /// Nobody listens any more.
    Unheard,
    Trouble(Trouble),
}

impl Watcher {
    async fn run(&mut self) {
        let mut failed = 0;
        loop {
            let next = self.next;
            let Ended::Trouble(trouble) = self.follow().await else { return };
            if trouble.kind == Kind::Refused {
                let _ = self.sender.send(Err(trouble.error("watch what happens"))).await;
                return;
            }
            failed = if self.next == next { failed + 1 } else { 0 };
            tokio::time::sleep(backoff(failed)).await;
        }
    }

    /// Opens a stream where we are, and tells what it says.
    async fn follow(&mut self) -> Ended {
        let create = WatchCreate {
            key: self.key.clone(),
            range_end: self.range_end.clone(),
            // One earlier than needed: of the compacted revision itself etcd may have forgotten what was deleted, and
            // only says so of those before it (etcd#18089, #19179). 0 would mean: from now on.
            start_revision: self.next.saturating_sub(1).max(1).cast_signed(),
            progress_notify: true,
            fragment: true,
        };
        // The stream ends with its questions, so they don't.
        let questions = tokio_stream::once(WatchRequest { create: Some(create) }).chain(tokio_stream::pending());
        let (index, mut answers) = match self.members.stream::<_, WatchResponse>(WATCH, questions, OPENED).await {
            Ok(opened) => opened,
            Err(trouble) => return Ended::Trouble(trouble),
        };
        let mut commit = Commit::default();
        loop {
            let answer = match answers.message().await {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ended::Trouble(self.broken(index, "the stream ended")),
                Err(status) => return Ended::Trouble(self.members.trouble(index, &status)),
            };
            if answer.canceled && answer.compact_revision > 0 {
                return self.gap(answer.compact_revision.cast_unsigned()).await;
            }
            if let Some(header) = &answer.header
                && self.cluster.replace(header.cluster_id).is_some_and(|known| known != header.cluster_id)
            {
                // Made anew from a backup: it counts from where that was.
                return self.gap(header.revision.cast_unsigned()).await;
            }
            if answer.canceled {
                return Ended::Trouble(self.broken(index, &answer.cancel_reason));
            }
            let progress = answer.events.is_empty() && !answer.created && !answer.fragment;
            for event in answer.events {
                if let Some(whole) = commit.add(&self.names, event)
                    && !self.told(whole).await
                {
                    return Ended::Unheard;
                }
            }
            if !answer.fragment && !self.told(std::mem::take(&mut commit)).await {
                return Ended::Unheard;
            }
            // Sent in the order of the events, and only if there is nothing before it that wasn't. That doesn't hold for
            // progress that is asked for (etcd#15220), so we don't ask.
            if progress && let Some(header) = answer.header {
                self.next = self.next.max(header.revision.cast_unsigned() + 1);
            }
        }
    }

    /// Tells of a gap; then a new stream begins behind it.
    async fn gap(&mut self, revision: Revision) -> Ended {
        if !self.tell(News::Gap { revision }).await {
            return Ended::Unheard;
        }
        self.next = revision + 1;
        Ended::Trouble(Trouble { kind: Kind::Compacted, why: String::new() })
    }

    fn broken(&self, index: usize, why: &str) -> Trouble {
        self.members.failed(index, false);
        Trouble { kind: Kind::NoAnswer, why: format!("{}: {why}", self.members.name(index)) }
    }

    /// Tells a commit that is whole, unless it was told before.
    async fn told(&mut self, commit: Commit) -> bool {
        if commit.revision < self.next {
            return true;
        }
        let revision = commit.revision;
        if !commit.changes.is_empty() && !self.tell(News::Changes { revision, changes: commit.changes }).await {
            return false;
        }
        self.next = revision + 1;
        true
    }

    async fn tell(&self, news: News) -> bool {
        self.sender.send(Ok(news)).await.is_ok()
    }
}

/// The events of one revision; they come one after the other, but maybe not in one answer.
#[derive(Default)]
struct Commit {
    revision: Revision,
    changes: Vec<Change>,
}

impl Commit {
    /// The commit before, if this event is of another one.
    fn add(&mut self, names: &Names, event: Event) -> Option<Commit> {
        let pair = event.kv?;
        let revision = pair.mod_revision.cast_unsigned();
        let fresh = || Commit { revision, changes: Vec::new() };
        let whole = (revision != self.revision).then(|| std::mem::replace(self, fresh()));
        // A key that isn't a text is not one of ours.
        if let Some(key) = names.short(&pair.key) {
            let created = pair.create_revision.cast_unsigned();
            self.changes.push(match event.kind {
                DELETED => Change::Deleted { key },
                _ => Change::Put(Pair { key, value: pair.value, created, modified: revision }),
            });
        }
        whole
    }
}
