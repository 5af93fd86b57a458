//! [`Pool`]: one link per key, made once, shared by whoever asks (decision D5).

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocksalt_core::link::{Failure, Info, Key, Stage};
use rocksalt_core::roster::Entry;
use tokio::sync::Semaphore;

use crate::agents::Agents;
use crate::bootstrap;
use crate::link::Link;
use crate::transport::{self, Caller, NAMES, Person, Prompt, Transport};

#[derive(Clone, Debug)]
pub struct Limits {
    /// Logins that are under way at once.
    pub connecting: usize,
    /// Links that may be open.
    pub open: usize,
    /// A link that nobody used for so long is closed.
    pub idle: Duration,
    /// How often a busy server is tried again.
    pub tries: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connecting: 64, open: 20_000, idle: Duration::from_secs(600), tries: 6 }
    }
}

/// On whose behalf a link is wanted, and how.
pub struct Wish<'a> {
    pub entry: &'a Entry,
    pub prompt: &'a dyn Prompt,
    pub agent_socket: Option<&'a Path>,
    /// The agent leaves nothing behind.
    pub wipe: bool,
    pub progress: &'a (dyn Fn(Stage) + Send + Sync),
}

/// Uploads of the agent at once: more would only share the same network.
const UPLOADS: usize = 24;

pub struct Pool {
    agents: Agents,
    limits: Limits,
    transports: HashMap<&'static str, Box<dyn Transport>>,
    connecting: Semaphore,
    uploading: Semaphore,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

/// Whoever makes the link holds the lock; the others wait and find it made.
type Slot = tokio::sync::Mutex<Option<Arc<Link>>>;

impl Pool {
    pub fn new(agents: Agents, person: &Person, limits: Limits) -> Pool {
        let transports = NAMES.into_iter().filter_map(|name| Some((name, transport::open(name, person).ok()?)));
        Pool {
            agents,
            transports: transports.collect(),
            connecting: Semaphore::new(limits.connecting.max(1)),
            uploading: Semaphore::new(UPLOADS),
            limits,
            slots: Mutex::default(),
        }
    }

    /// The link of an entry: the one that is there, or a new one.
    pub async fn link(&self, wish: &Wish<'_>) -> Result<Arc<Link>, Failure> {
        let transport = self.transport(&wish.entry.transport)?;
        let key = transport.key(wish.entry);
        let slot = self.slot(&key)?;
        let mut link = slot.lock().await;
        if let Some(link) = link.as_ref().filter(|link| link.lost().is_none()) {
            return Ok(Arc::clone(link));
        }
        match self.make(transport, key.clone(), wish).await {
            Ok(made) => Ok(Arc::clone(link.insert(made))),
            Err(failure) => {
                *link = None;
                drop(link);
                self.forget(&key, &slot);
                Err(failure)
            }
        }
    }

    pub fn list(&self) -> Vec<Info> {
        let mut links: Vec<Info> = self.links().iter().map(|link| link.info()).collect();
        links.sort_by(|a, b| a.target.cmp(&b.target).then_with(|| a.key.cmp(&b.key)));
        links
    }

    /// Closes the links that `which` picks; how many there were.
    pub async fn close(&self, which: impl Fn(&Info) -> bool, wipe: bool) -> usize {
        let picked: Vec<Arc<Link>> = self.links().into_iter().filter(|link| which(&link.info())).collect();
        let count = picked.len();
        self.end(picked, wipe).await;
        count
    }

    /// Closes what is idle or lost. To be called every now and then.
    pub async fn reap(&self) -> usize {
        let idle = self.limits.idle;
        let dead: Vec<Arc<Link>> =
            self.links().into_iter().filter(|link| link.lost().is_some() || link.idle() >= idle).collect();
        let count = dead.len();
        self.end(dead, false).await;
        count
    }

    /// All at once: each may take a moment.
    async fn end(&self, links: Vec<Arc<Link>>, wipe: bool) {
        let closing: Vec<_> = links
            .iter()
            .map(|link| {
                let link = Arc::clone(link);
                tokio::spawn(async move { link.close(wipe).await })
            })
            .collect();
        for closed in closing {
            let _ = closed.await;
        }
        for link in links {
            if let Ok(slot) = self.slot(link.key()) {
                slot.lock().await.take();
                self.forget(link.key(), &slot);
            }
        }
    }

    fn links(&self) -> Vec<Arc<Link>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.values().filter_map(|slot| slot.try_lock().ok()?.clone()).collect()
    }

    fn transport(&self, name: &str) -> Result<&dyn Transport, Failure> {
        match self.transports.get(name) {
            Some(transport) => Ok(&**transport),
            None => Err(transport::unknown(name)),
        }
    }

    fn slot(&self, key: &Key) -> Result<Arc<Slot>, Failure> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= self.limits.open && !slots.contains_key(key) {
            return Err(Failure::new(Stage::Settings, format!("{} links are open, which is the limit", slots.len()))
                .hint("close some with `rocksalt links close`, or raise `links_max` in the configuration"));
        }
        Ok(Arc::clone(slots.entry(key.clone()).or_default()))
    }

    /// Drops an empty slot, so that hosts which never answer don't pile up.
    fn forget(&self, key: &Key, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // Two: the map's own and the caller's. More means that somebody waits for it.
        if Arc::strong_count(slot) <= 2 && slot.try_lock().is_ok_and(|link| link.is_none()) {
            slots.remove(key);
        }
    }

    async fn make(&self, transport: &dyn Transport, key: Key, wish: &Wish<'_>) -> Result<Arc<Link>, Failure> {
        let mut attempt = 0;
        let session = loop {
            let permit = self.connecting.acquire().await;
            let caller = Caller { prompt: wish.prompt, agent_socket: wish.agent_socket, progress: wish.progress };
            let connected = transport.connect(wish.entry, &caller).await;
            drop(permit);
            match connected {
                Ok(session) => break session,
                Err(failure) if failure.busy && attempt + 1 < self.limits.tries => {
                    attempt += 1;
                    tokio::time::sleep(back_off(attempt)).await;
                }
                Err(failure) if attempt > 0 => {
                    let text = format!("{} (tried {} times)", failure.text, attempt + 1);
                    return Err(Failure { text, ..failure });
                }
                Err(failure) => return Err(failure),
            }
        };
        (wish.progress)(Stage::Session);
        let settings = bootstrap::Settings {
            entry: wish.entry,
            agents: &self.agents,
            prompt: wish.prompt,
            wipe: wish.wipe,
            uploading: &self.uploading,
        };
        let started = match bootstrap::start(&*session, &settings).await {
            Ok(started) => started,
            Err(failure) => {
                session.close().await;
                return Err(failure);
            }
        };
        (wish.progress)(Stage::Upload);
        let link = Link::open(key, &wish.entry.id, started, session).await?;
        (wish.progress)(Stage::Agent);
        Ok(link)
    }
}

/// Longer with each attempt, and never the same for two: those who were refused together must not
/// come back together.
fn back_off(attempt: u32) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), attempt) % 1000;
    Duration::from_millis(100 * (1 << attempt.min(6))).mul_f64(0.5 + random as f64 / 1000.0)
}
