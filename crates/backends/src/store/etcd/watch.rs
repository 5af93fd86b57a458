//! An etcd watch that resumes after any failure of its stream.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::{self, StreamExt};

use super::KeyNames;
use super::call::{CallError, CallErrorKind, backoff};
use super::members::EtcdMembers;
use super::messages::{DELETED, MvccEvent, WATCH, WatchCreate, WatchRequest, WatchResponse};
use crate::store::{Error, KeyChange, Pair, Revision, WatchEvent};

/// Events queued for a slow reader. When it is full, etcd buffers, until the missing revisions are compacted.
const QUEUE_CAPACITY: usize = 64;

/// Time limit for opening a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

pub fn start(
    members: Arc<EtcdMembers>,
    names: Arc<KeyNames>,
    prefix: &str,
    after: Revision,
) -> mpsc::Receiver<Result<WatchEvent, Error>> {
    let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
    let (key, range_end) = names.below(prefix);
    let mut watcher = EtcdWatcher { members, names, key, range_end, next: after + 1, cluster: None, sender };
    tokio::spawn(async move {
        let sender = watcher.sender.clone();
        tokio::select! {
            () = sender.closed() => {}
            () = watcher.run() => {}
        }
    });
    receiver
}

struct EtcdWatcher {
    members: Arc<EtcdMembers>,
    names: Arc<KeyNames>,
    key: Vec<u8>,
    range_end: Vec<u8>,
    /// The first revision that was not delivered yet.
    next: Revision,
    /// The cluster that the revisions belong to.
    cluster: Option<u64>,
    sender: mpsc::Sender<Result<WatchEvent, Error>>,
}

/// Why a stream ended.
enum StreamEnd {
    /// The reader is gone.
    ReaderGone,
    Failed(CallError),
}

impl EtcdWatcher {
    async fn run(&mut self) {
        let mut failed = 0;
        loop {
            let next = self.next;
            let StreamEnd::Failed(error) = self.follow().await else { return };
            if error.kind == CallErrorKind::Refused {
                let _ = self.sender.send(Err(error.error("watch changes"))).await;
                return;
            }
            failed = if self.next == next { failed + 1 } else { 0 };
            tokio::time::sleep(backoff(failed)).await;
        }
    }

    /// Opens a stream at the next revision and delivers its events.
    async fn follow(&mut self) -> StreamEnd {
        let create = WatchCreate {
            key: self.key.clone(),
            range_end: self.range_end.clone(),
            // One earlier than needed: etcd may have lost deletions in the compacted revision itself, and only reports
            // revisions before it as compacted (etcd#18089, #19179). 0 would mean: from now on.
            start_revision: self.next.saturating_sub(1).max(1).cast_signed(),
            progress_notify: true,
            fragment: true,
        };
        // The stream ends when its requests end, so they stay pending.
        let requests = tokio_stream::once(WatchRequest { create: Some(create) }).chain(tokio_stream::pending());
        let (index, mut responses) = match self.members.stream::<_, WatchResponse>(WATCH, requests, OPEN_TIMEOUT).await
        {
            Ok(opened) => opened,
            Err(error) => return StreamEnd::Failed(error),
        };
        let mut commit = WatchedCommit::default();
        loop {
            let response = match responses.message().await {
                Ok(Some(response)) => response,
                Ok(None) => return StreamEnd::Failed(self.broken(index, "the stream ended")),
                Err(status) => return StreamEnd::Failed(self.members.call_error(index, &status)),
            };
            if response.canceled && response.compact_revision > 0 {
                return self.deliver_gap(response.compact_revision.cast_unsigned()).await;
            }
            if let Some(header) = &response.header
                && self.cluster.replace(header.cluster_id).is_some_and(|known| known != header.cluster_id)
            {
                // Restored from a backup: its revisions start from there.
                return self.deliver_gap(header.revision.cast_unsigned()).await;
            }
            if response.canceled {
                return StreamEnd::Failed(self.broken(index, &response.cancel_reason));
            }
            let progress = response.events.is_empty() && !response.created && !response.fragment;
            for event in response.events {
                if let Some(whole) = commit.add(&self.names, event)
                    && !self.deliver(whole).await
                {
                    return StreamEnd::ReaderGone;
                }
            }
            if !response.fragment && !self.deliver(std::mem::take(&mut commit)).await {
                return StreamEnd::ReaderGone;
            }
            // Ordered after all earlier events. That doesn't hold for progress that is requested (etcd#15220), so we
            // don't request it.
            if progress && let Some(header) = response.header {
                self.next = self.next.max(header.revision.cast_unsigned() + 1);
            }
        }
    }

    /// Delivers a gap; the next stream begins after it.
    async fn deliver_gap(&mut self, revision: Revision) -> StreamEnd {
        if !self.send(WatchEvent::Gap { revision }).await {
            return StreamEnd::ReaderGone;
        }
        self.next = revision + 1;
        StreamEnd::Failed(CallError { kind: CallErrorKind::Compacted, why: String::new() })
    }

    fn broken(&self, index: usize, why: &str) -> CallError {
        self.members.failed(index, false);
        CallError { kind: CallErrorKind::NoAnswer, why: format!("{}: {why}", self.members.name(index)) }
    }

    /// Delivers a complete commit, unless it was delivered before. False if the reader is gone.
    async fn deliver(&mut self, commit: WatchedCommit) -> bool {
        if commit.revision < self.next {
            return true;
        }
        let revision = commit.revision;
        if !commit.changes.is_empty() && !self.send(WatchEvent::Changes { revision, changes: commit.changes }).await {
            return false;
        }
        self.next = revision + 1;
        true
    }

    async fn send(&self, news: WatchEvent) -> bool {
        self.sender.send(Ok(news)).await.is_ok()
    }
}

/// The events of one revision. They are consecutive, but may span several responses.
#[derive(Default)]
struct WatchedCommit {
    revision: Revision,
    changes: Vec<KeyChange>,
}

impl WatchedCommit {
    /// Adds an event; returns the previous commit if this event begins a new one.
    fn add(&mut self, names: &KeyNames, event: MvccEvent) -> Option<WatchedCommit> {
        let pair = event.kv?;
        let revision = pair.mod_revision.cast_unsigned();
        let fresh = || WatchedCommit { revision, changes: Vec::new() };
        let whole = (revision != self.revision).then(|| std::mem::replace(self, fresh()));
        // A key that isn't UTF-8 is not one of ours.
        if let Some(key) = names.short(&pair.key) {
            let created = pair.create_revision.cast_unsigned();
            self.changes.push(match event.kind {
                DELETED => KeyChange::Deleted { key },
                _ => KeyChange::Put(Pair { key, value: pair.value, created, modified: revision }),
            });
        }
        whole
    }
}
