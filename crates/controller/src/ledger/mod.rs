//! [`Ledger`]: jobs, their returns and all events, in a store.
//!
//! A job's record is stored before anything is sent, and a return counts once it is stored. Every event has an id; each
//! listener reads the log from its own position, so that a slow one loses nothing.

mod expire;
mod follow;
mod import;
mod index;
mod jobs;
mod keys;
mod writer;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rocksalt_backends::store::{Error, KeyRange, Store};
use rocksalt_core::Event;
use rocksalt_core::record::{Account, EventId, LoggedEvent};

use follow::RecentEvents;
pub use follow::{Follower, Heard};
use index::Index;
pub(crate) use jobs::cut;
pub use jobs::{NewJob, fits};
use writer::{WriteRequest, Writer};

pub struct Ledger {
    store: Arc<dyn Store>,
    writer: Writer,
    recent: Arc<RecentEvents>,
    index: Arc<Index>,
    settings: Settings,
    /// The time of the last job id, so that no two ids are the same.
    last_id: AtomicU64,
}

#[derive(Clone)]
pub struct Settings {
    /// The current time in microseconds since 1970: only the program itself reads the clock.
    pub now: fn() -> u64,
    /// The name of this controller, for the records.
    pub owner: String,
    /// Jobs that ended longer ago are removed (Salt's `keep_jobs_seconds`).
    pub keep_jobs_seconds: u64,
    /// Older events are removed.
    pub keep_events_seconds: u64,
    /// A larger return is truncated, and its record says so.
    pub largest_return: usize,
}

impl Settings {
    /// Salt's defaults. A return is stored twice in one commit, itself and in its event, and etcd allows 1.5 MiB per
    /// commit.
    pub fn new(now: fn() -> u64, owner: impl Into<String>) -> Settings {
        Settings {
            now,
            owner: owner.into(),
            keep_jobs_seconds: 86_400,
            keep_events_seconds: 86_400,
            largest_return: 512 << 10,
        }
    }
}

impl Ledger {
    pub async fn open(store: Arc<dyn Store>, settings: Settings) -> Result<Ledger, Error> {
        let last = store.range(&KeyRange::prefix(keys::EVENTS).descending().limit(1).keys_only()).await?;
        let last = last.pairs.first().and_then(|pair| keys::event_id(&pair.key)).unwrap_or(0);
        let recent = Arc::new(RecentEvents::new(last));
        let index = Arc::new(Index::read(&*store).await?);
        let writer = Writer::start(Arc::clone(&store), Arc::clone(&recent), Arc::clone(&index), settings.now);
        Ok(Ledger { store, writer, recent, index, settings, last_id: AtomicU64::new(0) })
    }

    /// Adds an event to the log, and returns when it is stored. Everybody who is logged in can read an event without an
    /// account, and few those of others ([`Follower::only`]).
    pub async fn fire(&self, event: Event, account: Option<&Account>) -> Result<EventId, Error> {
        self.fire_all(vec![event], account).await
    }

    /// Adds events to the log in order. Returns the id of the last.
    pub async fn fire_all(&self, events: Vec<Event>, account: Option<&Account>) -> Result<EventId, Error> {
        self.writer.write(WriteRequest::events(events, account)).await.map(Option::unwrap_or_default)
    }

    /// Sends an event to the current listeners without storing it: the progress of runs.
    pub fn publish(&self, mut event: Event, account: Option<&Account>) {
        let stamp = (self.settings.now)();
        crate::job_events::stamp(&mut event, stamp);
        let size = minicbor::to_vec(&event).map_or(0, |bytes| bytes.len());
        self.recent.publish(LoggedEvent { stamp, ..LoggedEvent::new(event, account.cloned()) }, size);
    }

    /// Follows the log: with `after` from the event after it, otherwise from the next new event.
    pub fn follow(&self, after: Option<EventId>) -> Follower {
        Follower::new(Arc::clone(&self.store), Arc::clone(&self.recent), after)
    }

    /// The id of the newest event.
    pub fn last_event(&self) -> EventId {
        self.recent.last()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
