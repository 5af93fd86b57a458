//! [`Follower`]: reads the log from its own position, at its own pace.
//!
//! The newest events are in memory, once for all listeners; a follower that is too slow for them reads the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_backends::store::{Error, KeyRange, Store};
use rocksalt_core::record::{Account, EventId, LoggedEvent};
use tokio::sync::watch;

use super::keys;

/// How many of the newest events are in memory, and their maximum size in bytes.
const KEPT: usize = 4096;
const BYTES: usize = 8 << 20;

/// How many events a slow follower reads from the store at a time.
const PAGE: usize = 256;

/// The newest events in the order of arrival, including events that are published but not stored.
pub struct RecentEvents {
    history: Mutex<History>,
    /// The total number of events so far; a change wakes the followers.
    count: watch::Sender<u64>,
}

struct History {
    /// The events with their sizes.
    events: VecDeque<(Arc<LoggedEvent>, usize)>,
    bytes: usize,
    /// The number of events that were dropped before the first of `events`.
    gone: u64,
    last: EventId,
    /// The id of the last stored event that was dropped from memory.
    before: EventId,
}

impl RecentEvents {
    pub fn new(last: EventId) -> RecentEvents {
        let history = History { events: VecDeque::new(), bytes: 0, gone: 0, last, before: last };
        RecentEvents { history: Mutex::new(history), count: watch::Sender::new(0) }
    }

    fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn last(&self) -> EventId {
        self.history().last
    }

    /// Adds a stored event, with its size.
    pub fn log(&self, event: LoggedEvent, size: usize) {
        self.history().last = event.id;
        self.push(event, size);
    }

    /// Adds an event that is not stored; its id is 0.
    pub fn publish(&self, event: LoggedEvent, size: usize) {
        self.push(event, size);
    }

    /// Notes that another controller wrote events up to this one.
    pub fn skip_to(&self, newest: EventId) {
        let mut history = self.history();
        // Memory no longer holds a complete part of the log: followers read the store up to here.
        history.gone += history.events.len() as u64;
        history.events.clear();
        history.bytes = 0;
        history.last = history.last.max(newest);
        history.before = history.last;
        let count = history.gone;
        drop(history);
        self.count.send_replace(count);
    }

    fn push(&self, event: LoggedEvent, size: usize) {
        let mut history = self.history();
        history.bytes += size;
        history.events.push_back((Arc::new(event), size));
        while history.events.len() > KEPT || (history.bytes > BYTES && history.events.len() > 1) {
            let Some((oldest, size)) = history.events.pop_front() else { break };
            history.bytes -= size;
            history.gone += 1;
            history.before = history.before.max(oldest.id);
        }
        let count = history.gone + history.events.len() as u64;
        drop(history);
        self.count.send_replace(count);
    }
}

/// An item that a follower reads.
#[derive(Clone, Debug)]
pub enum Heard {
    Event(Arc<LoggedEvent>),
    /// An event that this follower may not read.
    Hidden(EventId),
    /// The events between the requested one and this one have expired.
    Gap {
        first: EventId,
    },
}

pub struct Follower {
    store: Arc<dyn Store>,
    recent: Arc<RecentEvents>,
    count: watch::Receiver<u64>,
    /// The id of the last stored event that was returned.
    after: EventId,
    /// The position of the next event in memory; `None` while it reads the store.
    place: Option<u64>,
    page: VecDeque<Arc<LoggedEvent>>,
    /// Whose events it reads, besides the controller's own; `None` for all.
    account: Option<Account>,
}

impl Follower {
    pub(super) fn new(store: Arc<dyn Store>, recent: Arc<RecentEvents>, after: Option<EventId>) -> Follower {
        let count = recent.count.subscribe();
        let (after, place) = match after {
            Some(after) => (after, None),
            None => {
                let history = recent.history();
                (history.last, Some(history.gone + history.events.len() as u64))
            }
        };
        Follower { store, recent, count, after, place, page: VecDeque::new(), account: None }
    }

    /// Reads only what this account may see.
    #[must_use]
    pub fn only(mut self, account: Account) -> Follower {
        self.account = Some(account);
        self
    }

    fn heard(&self, event: Arc<LoggedEvent>) -> Heard {
        match (&self.account, &event.account) {
            (Some(mine), Some(whose)) if mine != whose => Heard::Hidden(event.id),
            _ => Heard::Event(event),
        }
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        loop {
            if let Some(event) = self.page.pop_front() {
                self.after = event.id;
                return Ok(self.heard(event));
            }
            // Marked as seen before reading: a later event wakes the follower.
            self.count.borrow_and_update();
            match self.in_memory() {
                NextEvent::Event(event) => {
                    self.after = self.after.max(event.id);
                    return Ok(self.heard(event));
                }
                NextEvent::Store => {
                    if let Some(gap) = self.read_on().await? {
                        return Ok(gap);
                    }
                }
                NextEvent::Nothing => {
                    if self.count.changed().await.is_err() {
                        return Err(Error::Unavailable { doing: "listen", why: "the ledger is closed".into() });
                    }
                }
            }
        }
    }

    fn in_memory(&mut self) -> NextEvent {
        let history = self.recent.history();
        let place = match self.place {
            Some(place) if place >= history.gone => place,
            _ if self.after < history.before => {
                self.place = None;
                return NextEvent::Store;
            }
            // All missing events are in memory.
            _ => {
                let known =
                    history.events.iter().take_while(|(event, _)| event.id == 0 || event.id <= self.after).count();
                history.gone + known as u64
            }
        };
        match history.events.get((place - history.gone) as usize) {
            Some((event, _)) => {
                self.place = Some(place + 1);
                NextEvent::Event(Arc::clone(event))
            }
            None => {
                self.place = Some(place);
                NextEvent::Nothing
            }
        }
    }

    /// Reads the next page from the store. Returns a gap if the next events have expired.
    async fn read_on(&mut self) -> Result<Option<Heard>, Error> {
        let range = KeyRange { from: keys::event(self.after + 1), ..KeyRange::prefix(keys::EVENTS) };
        let listing = self.store.range(&range.limit(PAGE)).await?;
        let events = listing.pairs.iter().filter_map(|pair| minicbor::decode::<LoggedEvent>(&pair.value).ok());
        self.page = events.map(Arc::new).collect();
        match self.page.front() {
            Some(first) if first.id > self.after + 1 => {
                let first = first.id;
                self.after = first - 1;
                Ok(Some(Heard::Gap { first }))
            }
            Some(_) => Ok(None),
            // All of them have expired: continue with those in memory.
            None => {
                let before = self.recent.history().before;
                let gap = before > self.after;
                self.after = self.after.max(before);
                Ok(gap.then_some(Heard::Gap { first: before + 1 }))
            }
        }
    }
}

enum NextEvent {
    Event(Arc<LoggedEvent>),
    Store,
    Nothing,
}
