//! [`Pool`]: one link per key, shared by all requests (docs/decisions/0004-the-keeper-holds-all-links.md).
//!
//! A link may start with the small agent. When the whole one is needed, it is started over the same login and
//! replaces the small one, which gets no new calls and ends with its last one
//! (docs/decisions/0018-a-small-agent-goes-first.md).

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rocksalt_core::link::{AgentKind, Info, LinkFailure, LinkKey, Stage};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::secret::Secret;
use tokio::sync::Semaphore;

use crate::LocalUser;
use crate::agents::Agents;
use crate::bootstrap;
use crate::link::Link;
use crate::log::{ms, printable};
use crate::transport::{self, LoginContext, LoginSession, NAMES, Prompt, Transport};

#[derive(Clone, Debug)]
pub struct Limits {
    /// The limit of concurrent logins.
    pub connecting: usize,
    /// The limit of open links.
    pub open: usize,
    /// A link that was idle for this long is closed.
    pub idle: Duration,
    /// The number of attempts to log in to a busy server.
    pub tries: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connecting: 64, open: 20_000, idle: Duration::from_secs(600), tries: 6 }
    }
}

/// Which link is needed, and how to make it.
pub struct LinkRequest<'a> {
    pub entry: &'a RosterEntry,
    pub prompt: &'a dyn Prompt,
    pub agent_socket: Option<&'a Path>,
    /// The minimum kind of agent that the request needs.
    pub agent_kind: AgentKind,
    /// Remove the agent's file as it starts.
    pub wipe: bool,
    pub progress: &'a (dyn Fn(Stage) + Send + Sync),
}

/// Concurrent uploads of the agent: more would only share the same network.
const UPLOADS: usize = 24;

pub struct Pool {
    agents: Agents,
    limits: Limits,
    transports: HashMap<&'static str, Box<dyn Transport>>,
    connecting: Semaphore,
    uploading: Semaphore,
    slots: Mutex<HashMap<LinkKey, Arc<Slot>>>,
}

/// The task that makes the link holds the lock; the others wait and then find the link.
type Slot = tokio::sync::Mutex<SlotState>;

/// The links to one target.
#[derive(Default)]
struct SlotState {
    link: Option<Arc<Link>>,
    /// The small agent that the whole one replaced: it stays as long as a request uses it.
    secondary: Weak<Link>,
}

impl SlotState {
    fn live(&self) -> Option<&Arc<Link>> {
        self.link.as_ref().filter(|link| link.lost().is_none())
    }

    fn secondary(&self) -> Option<Arc<Link>> {
        self.secondary.upgrade().filter(|link| link.lost().is_none())
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

    /// The link of an entry: an open one, or a new one.
    pub async fn link(&self, request: &LinkRequest<'_>) -> Result<Arc<Link>, LinkFailure> {
        let transport = self.transport(&request.entry.transport)?;
        let key = transport.key(request.entry);
        let slot = self.slot(&key)?;
        let mut state = slot.lock().await;
        let began = Instant::now();
        let made = match state.live() {
            Some(link) if link.agent_kind() >= request.agent_kind => {
                tracing::debug!(%key, agent = link.agent_kind().name(), "uses the open link");
                return Ok(Arc::clone(link));
            }
            Some(small) => match self.replace_small(small, request).await {
                // The server may allow only one command per login (MaxSessions 1), or the login may have ended.
                Err(failure) if matches!(failure.stage, Stage::Session | Stage::Link) => {
                    self.connect(transport, key.clone(), request).await
                }
                other => other,
            },
            None => self.connect(transport, key.clone(), request).await,
        };
        if let Err(failure) = &made {
            let (stage, why) = (failure.stage.name(), printable(&failure.text));
            tracing::info!(%key, stage, why, ms = ms(began), "opening a link failed");
        }
        match made {
            Ok(made) => {
                tracing::info!(%key, agent = made.agent_kind().name(), ms = ms(began), "opened a link");
                if let Some(small) = state.live().map(Arc::downgrade) {
                    state.secondary = small;
                }
                Ok(Arc::clone(state.link.insert(made)))
            }
            // The link to the small agent remains usable.
            Err(failure) if state.live().is_some() => Err(failure),
            Err(failure) => {
                state.link = None;
                drop(state);
                self.remove_if_empty(&key, &slot);
                Err(failure)
            }
        }
    }

    /// The link to the small agent that the whole one replaced, while it still runs calls.
    pub async fn secondary_agent(&self, entry: &RosterEntry) -> Option<Arc<Link>> {
        let key = self.transport(&entry.transport).ok()?.key(entry);
        let slot = self.slots.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        let state = slot.lock().await;
        state.secondary()
    }

    pub fn list(&self) -> Vec<Info> {
        let both = self.open_links().into_iter().flat_map(|(link, secondary)| [Some(link), secondary]);
        let mut links: Vec<Info> = both.flatten().map(|link| link.info()).collect();
        links.sort_by(|a, b| a.target.cmp(&b.target).then_with(|| a.key.cmp(&b.key)));
        links
    }

    /// Closes the links that `which` selects. Returns how many.
    pub async fn close(&self, which: impl Fn(&Info) -> bool, wipe: bool) -> usize {
        let picked: Vec<_> = self.open_links().into_iter().filter(|(link, _)| which(&link.info())).collect();
        let count = picked.len();
        self.close_links(picked, wipe).await;
        count
    }

    /// Closes idle and lost links. Call it regularly.
    pub async fn reap(&self) -> usize {
        let limit = self.limits.idle;
        let idle = |link: &Arc<Link>| link.idle() >= limit;
        let unused = |(link, secondary): &(Arc<Link>, Option<Arc<Link>>)| {
            link.lost().is_some() || (idle(link) && secondary.as_ref().is_none_or(idle))
        };
        let dead: Vec<_> = self.open_links().into_iter().filter(unused).collect();
        let count = dead.len();
        self.close_links(dead, false).await;
        count
    }

    /// Closes links concurrently, since each may take a moment.
    async fn close_links(&self, links: Vec<(Arc<Link>, Option<Arc<Link>>)>, wipe: bool) {
        let keys: Vec<LinkKey> = links.iter().map(|(link, _)| link.key().clone()).collect();
        let close = |(link, secondary): (Arc<Link>, Option<Arc<Link>>)| async move {
            // The secondary agent first: both use the same login.
            if let Some(secondary) = secondary {
                secondary.stop_agent(wipe).await;
            }
            link.close(wipe).await;
        };
        let closing: Vec<_> = links.into_iter().map(|state| tokio::spawn(close(state))).collect();
        for closed in closing {
            let _ = closed.await;
        }
        for key in keys {
            if let Ok(slot) = self.slot(&key) {
                slot.lock().await.link.take();
                self.remove_if_empty(&key, &slot);
            }
        }
    }

    /// Each link, with the secondary agent on its login if there is one.
    fn open_links(&self) -> Vec<(Arc<Link>, Option<Arc<Link>>)> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.values().filter_map(|slot| slot.try_lock().ok());
        known.filter_map(|state| Some((state.link.clone()?, state.secondary()))).collect()
    }

    fn transport(&self, name: &str) -> Result<&dyn Transport, LinkFailure> {
        match self.transports.get(name) {
            Some(transport) => Ok(&**transport),
            None => Err(transport::unknown(name)),
        }
    }

    fn slot(&self, key: &LinkKey) -> Result<Arc<Slot>, LinkFailure> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= self.limits.open && !slots.contains_key(key) {
            return Err(LinkFailure::new(
                Stage::Settings,
                format!("{} links are open, which is the limit", slots.len()),
            )
            .hint("close some with `rocksalt links close`, or raise `links_max` in the configuration"));
        }
        Ok(Arc::clone(slots.entry(key.clone()).or_default()))
    }

    /// Removes an empty slot, so that hosts that never answer don't accumulate.
    fn remove_if_empty(&self, key: &LinkKey, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // Two references: the map's and the caller's. More mean that another task waits for the slot.
        if Arc::strong_count(slot) <= 2 && slot.try_lock().is_ok_and(|state| state.link.is_none()) {
            slots.remove(key);
        }
    }

    async fn connect(
        &self,
        transport: &dyn Transport,
        key: LinkKey,
        request: &LinkRequest<'_>,
    ) -> Result<Arc<Link>, LinkFailure> {
        let mut attempt = 0;
        let session = loop {
            let permit = self.connecting.acquire().await;
            let context =
                LoginContext { prompt: request.prompt, agent_socket: request.agent_socket, progress: request.progress };
            let connected = transport.connect(request.entry, &context).await;
            drop(permit);
            match connected {
                Ok(session) => break session,
                Err(failure) if failure.busy && attempt + 1 < self.limits.tries => {
                    attempt += 1;
                    let pause = back_off(attempt);
                    let (stage, why) = (failure.stage.name(), printable(&failure.text));
                    tracing::debug!(attempt, ?pause, stage, why, "the server is busy; tries again");
                    tokio::time::sleep(pause).await;
                }
                Err(failure) if attempt > 0 => {
                    let text = format!("{} (tried {} times)", failure.text, attempt + 1);
                    return Err(LinkFailure { text, ..failure });
                }
                Err(failure) => return Err(failure),
            }
        };
        (request.progress)(Stage::Session);
        let session: Arc<dyn LoginSession> = session.into();
        match self.start_agent(key, Arc::clone(&session), request.prompt, request).await {
            Ok(link) => Ok(link),
            Err(failure) => {
                session.close().await;
                Err(failure)
            }
        }
    }

    /// Starts the whole agent over the login of the small one.
    async fn replace_small(&self, small: &Link, request: &LinkRequest<'_>) -> Result<Arc<Link>, LinkFailure> {
        let prompt = CachedPassword { password: small.password(), prompt: request.prompt };
        self.start_agent(small.key().clone(), Arc::clone(small.session()), &prompt, request).await
    }

    async fn start_agent(
        &self,
        key: LinkKey,
        session: Arc<dyn LoginSession>,
        prompt: &dyn Prompt,
        request: &LinkRequest<'_>,
    ) -> Result<Arc<Link>, LinkFailure> {
        let options = bootstrap::Options {
            entry: request.entry,
            agents: &self.agents,
            agent_kind: request.agent_kind,
            prompt,
            wipe: request.wipe,
            uploading: &self.uploading,
        };
        let began = Instant::now();
        let started = bootstrap::start(&*session, &options).await?;
        tracing::debug!(ms = ms(began), "the bootstrap is complete");
        (request.progress)(Stage::Upload);
        let link = Link::open(key, &request.entry.id, started, session).await?;
        (request.progress)(Stage::Agent);
        Ok(link)
    }
}

/// Answers with the password that started the small agent, so that the user is not asked twice.
struct CachedPassword<'a> {
    password: Option<&'a Secret>,
    prompt: &'a dyn Prompt,
}

#[async_trait]
impl Prompt for CachedPassword<'_> {
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

/// Exponential back-off with jitter: clients that were refused together must not retry together.
fn back_off(attempt: u32) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), attempt) % 1000;
    Duration::from_millis(100 * (1 << attempt.min(6))).mul_f64(0.5 + random as f64 / 1000.0)
}
