//! [`Pool`]: one link per key, made once, shared by whoever asks (decision D5).
//!
//! A link may begin with the small agent. When the whole one is needed it is started beside it, over the same login:
//! the small one gets nothing new and ends when nobody uses it any more (decision 0018).

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::link::{Extent, Failure, Info, Key, Stage};
use rocksalt_core::roster::Entry;
use rocksalt_core::secret::Secret;
use tokio::sync::Semaphore;

use crate::agents::Agents;
use crate::bootstrap;
use crate::link::Link;
use crate::transport::{self, Caller, LocalUser, NAMES, Prompt, Session, Transport};

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
    /// What the agent must be able to do.
    pub extent: Extent,
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
type Slot = tokio::sync::Mutex<Way>;

/// The way to a target.
#[derive(Default)]
struct Way {
    link: Option<Arc<Link>>,
    /// The small agent that the whole one took over from: it lives as long as somebody uses it.
    leaving: Weak<Link>,
}

impl Way {
    fn standing(&self) -> Option<&Arc<Link>> {
        self.link.as_ref().filter(|link| link.lost().is_none())
    }

    fn leaving(&self) -> Option<Arc<Link>> {
        self.leaving.upgrade().filter(|link| link.lost().is_none())
    }
}

impl Pool {
    pub fn new(agents: Agents, local_user: &LocalUser, limits: Limits) -> Pool {
        let transports = NAMES.into_iter().filter_map(|name| Some((name, transport::open(name, local_user).ok()?)));
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
        let mut way = slot.lock().await;
        let made = match way.standing() {
            Some(link) if link.extent() >= wish.extent => return Ok(Arc::clone(link)),
            Some(small) => match self.extend(small, wish).await {
                // A server may allow one command for a login (MaxSessions 1), and the login may have gone meanwhile.
                Err(failure) if matches!(failure.stage, Stage::Session | Stage::Link) => {
                    self.make(transport, key.clone(), wish).await
                }
                other => other,
            },
            None => self.make(transport, key.clone(), wish).await,
        };
        match made {
            Ok(made) => {
                if let Some(small) = way.standing().map(Arc::downgrade) {
                    way.leaving = small;
                }
                Ok(Arc::clone(way.link.insert(made)))
            }
            // The small agent goes on with what it can do.
            Err(failure) if way.standing().is_some() => Err(failure),
            Err(failure) => {
                way.link = None;
                drop(way);
                self.forget(&key, &slot);
                Err(failure)
            }
        }
    }

    /// The small agent that still works for somebody beside the whole one.
    pub async fn beside(&self, entry: &Entry) -> Option<Arc<Link>> {
        let key = self.transport(&entry.transport).ok()?.key(entry);
        let slot = self.slots.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        let way = slot.lock().await;
        way.leaving()
    }

    pub fn list(&self) -> Vec<Info> {
        let both = self.ways().into_iter().flat_map(|(link, leaving)| [Some(link), leaving]);
        let mut links: Vec<Info> = both.flatten().map(|link| link.info()).collect();
        links.sort_by(|a, b| a.target.cmp(&b.target).then_with(|| a.key.cmp(&b.key)));
        links
    }

    /// Closes the links that `which` picks; how many there were.
    pub async fn close(&self, which: impl Fn(&Info) -> bool, wipe: bool) -> usize {
        let picked: Vec<_> = self.ways().into_iter().filter(|(link, _)| which(&link.info())).collect();
        let count = picked.len();
        self.end(picked, wipe).await;
        count
    }

    /// Closes what is idle or lost. To be called every now and then.
    pub async fn reap(&self) -> usize {
        let limit = self.limits.idle;
        let idle = |link: &Arc<Link>| link.idle() >= limit;
        let unused = |(link, leaving): &(Arc<Link>, Option<Arc<Link>>)| {
            link.lost().is_some() || (idle(link) && leaving.as_ref().is_none_or(idle))
        };
        let dead: Vec<_> = self.ways().into_iter().filter(unused).collect();
        let count = dead.len();
        self.end(dead, false).await;
        count
    }

    /// All at once: each may take a moment.
    async fn end(&self, ways: Vec<(Arc<Link>, Option<Arc<Link>>)>, wipe: bool) {
        let keys: Vec<Key> = ways.iter().map(|(link, _)| link.key().clone()).collect();
        let close = |(link, leaving): (Arc<Link>, Option<Arc<Link>>)| async move {
            // First: both go through the same login.
            if let Some(leaving) = leaving {
                leaving.leave(wipe).await;
            }
            link.close(wipe).await;
        };
        let closing: Vec<_> = ways.into_iter().map(|way| tokio::spawn(close(way))).collect();
        for closed in closing {
            let _ = closed.await;
        }
        for key in keys {
            if let Ok(slot) = self.slot(&key) {
                slot.lock().await.link.take();
                self.forget(&key, &slot);
            }
        }
    }

    /// Each link, with the small agent that works beside it.
    fn ways(&self) -> Vec<(Arc<Link>, Option<Arc<Link>>)> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.values().filter_map(|slot| slot.try_lock().ok());
        known.filter_map(|way| Some((way.link.clone()?, way.leaving()))).collect()
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
        if Arc::strong_count(slot) <= 2 && slot.try_lock().is_ok_and(|way| way.link.is_none()) {
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
        let session: Arc<dyn Session> = session.into();
        match self.start(key, Arc::clone(&session), wish.prompt, wish).await {
            Ok(link) => Ok(link),
            Err(failure) => {
                session.close().await;
                Err(failure)
            }
        }
    }

    /// The whole agent, over the login of a link that has the small one.
    async fn extend(&self, small: &Link, wish: &Wish<'_>) -> Result<Arc<Link>, Failure> {
        let prompt = Remembering { password: small.password(), prompt: wish.prompt };
        self.start(small.key().clone(), Arc::clone(small.session()), &prompt, wish).await
    }

    async fn start(
        &self,
        key: Key,
        session: Arc<dyn Session>,
        prompt: &dyn Prompt,
        wish: &Wish<'_>,
    ) -> Result<Arc<Link>, Failure> {
        let settings = bootstrap::Settings {
            entry: wish.entry,
            agents: &self.agents,
            extent: wish.extent,
            prompt,
            wipe: wish.wipe,
            uploading: &self.uploading,
        };
        let started = bootstrap::start(&*session, &settings).await?;
        (wish.progress)(Stage::Upload);
        let link = Link::open(key, &wish.entry.id, started, session).await?;
        (wish.progress)(Stage::Agent);
        Ok(link)
    }
}

/// Asks nobody twice for the password that let the small agent start.
struct Remembering<'a> {
    password: Option<&'a Secret>,
    prompt: &'a dyn Prompt,
}

#[async_trait]
impl Prompt for Remembering<'_> {
    async fn secret(&self, question: &str) -> Option<Secret> {
        match self.password {
            Some(password) => Some(password.clone()),
            None => self.prompt.secret(question).await,
        }
    }

    async fn tell(&self, text: &str) {
        self.prompt.tell(text).await;
    }
}

/// Longer with each attempt, and never the same for two: those who were refused together must not
/// come back together.
fn back_off(attempt: u32) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), attempt) % 1000;
    Duration::from_millis(100 * (1 << attempt.min(6))).mul_f64(0.5 + random as f64 / 1000.0)
}
