//! [`Presence`]: which targets are reachable, by a regular check with few logins at a time.
//!
//! A target with a link needs no check: the link reports when it breaks. To the others a link is opened from time to
//! time; a target that refuses the login is tried rarely, so that the account is not locked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rocksalt_connect::links::Links;
use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::{Event, Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::RequestService;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The interval of the check; 0 disables it.
    pub every: Duration,
    /// Salt's `presence_events`.
    pub events: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { every: Duration::from_secs(15), events: false }
    }
}

/// The limit of concurrent logins for this check.
const AT_ONCE: usize = 16;

/// The interval of the event with the present targets (Salt's `loop_interval`).
const PRESENT: Duration = Duration::from_secs(60);

/// The longest pause between two attempts after a network error, and after a refused login.
const AWAY: Duration = Duration::from_secs(300);
const UNWILLING: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PresenceState {
    Up,
    Down,
    /// Not tried yet.
    #[default]
    Unknown,
}

impl PresenceState {
    pub fn name(self) -> &'static str {
        match self {
            PresenceState::Up => "up",
            PresenceState::Down => "down",
            PresenceState::Unknown => "unknown",
        }
    }
}

/// The state of a target. Times are microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPresence {
    pub state: PresenceState,
    pub since: Option<u64>,
    pub last_seen: Option<u64>,
    /// Why it is down.
    pub why: Option<String>,
}

#[derive(Default)]
pub struct Presence {
    targets: Mutex<BTreeMap<String, WatchedTarget>>,
    wake: Notify,
}

#[derive(Default)]
struct WatchedTarget {
    seen: TargetPresence,
    /// An attempt is running.
    trying: bool,
    failures: u32,
    /// The earliest time of the next attempt.
    next: Option<Instant>,
}

/// The changes that a check found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub new: BTreeSet<String>,
    pub lost: BTreeSet<String>,
}

impl Changed {
    fn add(&mut self, more: Changed) {
        self.new.extend(more.new);
        self.lost.extend(more.lost);
    }
}

/// The attempts of one check, a few at a time. If it is dropped, the others wait for the next check.
#[derive(Default)]
struct PresenceCheck {
    due: VecDeque<(Trying, RosterEntry, Arc<dyn Links>)>,
    trying: JoinSet<Changed>,
}

impl PresenceCheck {
    /// Reads the state of the links, and starts with the targets that are due.
    async fn begin(&mut self, presence: &Arc<Presence>, controller: &Arc<Controller>) -> Changed {
        // If this fails, the pool is being closed.
        let Ok(links) = controller.links.list().await else { return Changed::default() };
        let standing = links.into_iter().map(|link| link.target).collect();
        let (changed, due) = presence.compare(controller, &standing);
        for id in due {
            let trying = Trying { presence: Arc::clone(presence), id };
            if let Some(entry) = controller.roster.get(&trying.id) {
                self.due.push_back((trying, entry.clone(), Arc::clone(&controller.links)));
            }
        }
        self.go_on();
        changed
    }

    /// The changes that the next finished attempt found; `None` if no attempt is running.
    async fn next(&mut self) -> Option<Changed> {
        let ended = self.trying.join_next().await?;
        self.go_on();
        Some(ended.unwrap_or_default())
    }

    fn go_on(&mut self) {
        while self.trying.len() < AT_ONCE {
            let Some((trying, entry, links)) = self.due.pop_front() else { return };
            self.trying.spawn(async move {
                let opened = links.open(&entry, AgentKind::Small, false, None).await;
                trying.presence.tried(&trying.id, opened.map(drop))
            });
        }
    }
}

/// Marks a target as being tried until it is dropped.
struct Trying {
    presence: Arc<Presence>,
    id: String,
}

impl Drop for Trying {
    fn drop(&mut self) {
        if let Some(target) = self.presence.targets().get_mut(&self.id) {
            target.trying = false;
        }
    }
}

impl Presence {
    pub fn of(&self, id: &str) -> TargetPresence {
        self.targets().get(id).map(|target| target.seen.clone()).unwrap_or_default()
    }

    /// The ids of reachable targets, sorted.
    pub fn up(&self) -> Vec<String> {
        self.that_are(PresenceState::Up)
    }

    /// The targets that could not be reached.
    pub fn down(&self) -> Vec<String> {
        self.that_are(PresenceState::Down)
    }

    /// Checks now: reads the state of the links, and tries the targets that are due.
    pub async fn look(self: &Arc<Presence>, controller: &Arc<Controller>) -> Changed {
        let mut look = PresenceCheck::default();
        let mut changed = look.begin(self, controller).await;
        while let Some(more) = look.next().await {
            changed.add(more);
        }
        changed
    }

    /// Makes all targets due at once, after a reload.
    pub(super) fn afresh(&self) {
        for target in self.targets().values_mut() {
            (target.failures, target.next) = (0, None);
        }
        self.wake.notify_one();
    }

    fn that_are(&self, state: PresenceState) -> Vec<String> {
        self.targets().iter().filter(|(_, target)| target.seen.state == state).map(|(id, _)| id.clone()).collect()
    }

    fn targets(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, WatchedTarget>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares with the open links. Returns the changes, and the targets to try.
    fn compare(&self, controller: &Controller, standing: &BTreeSet<String>) -> (Changed, Vec<String>) {
        let now = Instant::now();
        let known: BTreeSet<&str> = controller.roster.entries.iter().map(|entry| entry.id.as_str()).collect();
        let mut changed = Changed::default();
        let mut targets = self.targets();
        targets.retain(|id, target| {
            let stays = known.contains(id.as_str());
            if !stays && target.seen.state == PresenceState::Up {
                changed.lost.insert(id.clone());
            }
            stays
        });
        let mut due = Vec::new();
        for id in known {
            let target = targets.entry(id.to_owned()).or_default();
            if standing.contains(id) {
                target.up(id, &mut changed);
            } else if !target.trying && target.next.is_none_or(|next| next <= now) {
                // The link broke, but only a new attempt shows whether the target is down.
                target.trying = true;
                due.push(id.to_owned());
            }
        }
        (changed, due)
    }

    fn tried(&self, id: &str, outcome: Result<(), LinkFailure>) -> Changed {
        let mut changed = Changed::default();
        if let Some(target) = self.targets().get_mut(id) {
            match outcome {
                Ok(()) => target.up(id, &mut changed),
                Err(failure) => target.down(id, &failure, &mut changed),
            }
        }
        changed
    }
}

impl WatchedTarget {
    fn up(&mut self, id: &str, changed: &mut Changed) {
        let now = crate::clock::now();
        if self.seen.state != PresenceState::Up {
            self.seen = TargetPresence { state: PresenceState::Up, since: Some(now), ..TargetPresence::default() };
            changed.new.insert(id.to_owned());
        }
        self.seen.last_seen = Some(now);
        (self.failures, self.next) = (0, None);
    }

    fn down(&mut self, id: &str, failure: &LinkFailure, changed: &mut Changed) {
        if self.seen.state == PresenceState::Up {
            changed.lost.insert(id.to_owned());
        }
        if self.seen.state != PresenceState::Down {
            self.seen.state = PresenceState::Down;
            self.seen.since = Some(crate::clock::now());
        }
        self.seen.why = Some(format!("{}: {}", failure.stage.name(), failure.text));
        self.next = Some(Instant::now() + pause(failure.stage, self.failures));
        self.failures = self.failures.saturating_add(1);
    }
}

/// The pause before the next attempt: longer after each failure, with a random part.
fn pause(stage: Stage, failures: u32) -> Duration {
    // These failures rarely resolve themselves, and each attempt is another failed login.
    let unwilling = matches!(stage, Stage::Settings | Stage::HostKey | Stage::Login | Stage::Escalate);
    let first = if unwilling { Duration::from_secs(60) } else { Duration::from_secs(10) };
    let longest = if unwilling { UNWILLING } else { AWAY };
    let pause = first.saturating_mul(1 << failures.min(10)).min(longest);
    let random = RandomState::new().hash_one(failures) % 1000;
    pause.mul_f64(0.75 + random as f64 / 2000.0)
}

/// Checks until the daemon ends, and fires events for what changes.
pub async fn watch(requests: Arc<RequestService>) {
    let presence = Arc::clone(requests.presence());
    let mut look = PresenceCheck::default();
    let mut told = Instant::now();
    loop {
        let loaded = requests.loaded();
        let settings = loaded.presence.clone();
        if !settings.every.is_zero() {
            let changed = look.begin(&presence, &loaded.controller).await;
            tell(requests.ledger(), &changed, settings.events).await;
            if settings.events && told.elapsed() >= PRESENT {
                let present = event("salt/presence/present", [("present", presence.up().into_iter().collect())]);
                requests.ledger().publish(present, None);
                told = Instant::now();
            }
        }
        drop(loaded);
        let wait = tokio::time::sleep(if settings.every.is_zero() { PRESENT } else { settings.every });
        let mut wait = std::pin::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = presence.wake.notified() => break,
                Some(changed) = look.next() => tell(requests.ledger(), &changed, settings.events).await,
            }
        }
    }
}

async fn tell(ledger: &Ledger, changed: &Changed, events: bool) {
    for id in &changed.new {
        let tag = format!("salt/minion/{id}/start");
        let mut data = Map::new();
        data.insert("id", id.as_str());
        data.insert("tag", tag.as_str());
        data.insert("cmd", "_minion_event");
        data.insert("data", format!("Minion {id} started"));
        data.insert("pretag", Value::Null);
        data.insert("ts", crate::clock::now() as f64 / 1e6);
        fire(ledger, Event { tag, data }).await;
    }
    if events && (!changed.new.is_empty() || !changed.lost.is_empty()) {
        let all = [("new", changed.new.clone()), ("lost", changed.lost.clone())];
        fire(ledger, event("salt/presence/change", all)).await;
    }
}

async fn fire(ledger: &Ledger, event: Event) {
    if let Err(error) = ledger.fire(event, None).await {
        tracing::warn!(%error, "an event of presence could not be stored");
    }
}

fn event<const N: usize>(tag: &str, lists: [(&str, BTreeSet<String>); N]) -> Event {
    let list = |ids: BTreeSet<String>| Value::List(ids.into_iter().map(Value::String).collect());
    let data = lists.into_iter().map(|(name, ids)| (name.into(), list(ids))).collect();
    Event { tag: tag.to_owned(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stage: Stage) -> LinkFailure {
        LinkFailure::new(stage, "no")
    }

    #[test]
    fn a_change_is_told_once() {
        let mut target = WatchedTarget::default();
        let mut changed = Changed::default();
        target.up("a", &mut changed);
        assert!(changed.new.contains("a"));
        let mut changed = Changed::default();
        target.up("a", &mut changed);
        assert_eq!(changed, Changed::default());
        target.down("a", &failure(Stage::Connect), &mut changed);
        assert!(changed.lost.contains("a") && target.seen.why.is_some());
        let mut changed = Changed::default();
        target.down("a", &failure(Stage::Connect), &mut changed);
        assert_eq!(changed, Changed::default());
        assert!(target.seen.last_seen.is_some(), "when it was last seen stays known");
    }

    #[test]
    fn who_refuses_us_is_left_alone_for_long() {
        for failures in 0..40 {
            let (away, unwilling) = (pause(Stage::Connect, failures), pause(Stage::Login, failures));
            assert!(away <= AWAY.mul_f64(1.25) && unwilling <= UNWILLING.mul_f64(1.25));
            assert!(unwilling > away, "{failures}");
        }
        assert!(pause(Stage::Login, 9) > Duration::from_secs(2600));
    }
}
