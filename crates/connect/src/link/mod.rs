//! A link: many calls at once over one pair of pipes, each a task of its own.

mod port;
mod pump;
mod request;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::frame::{Frame, Hello, LINK, Message, PROTOCOL, RequestId};
use rocksalt_core::link::{Extent, Failure, Info, Key, Stage};
use rocksalt_core::secret::Secret;
use tokio::sync::mpsc;

use crate::bootstrap::Started;
use crate::transport::Session;

pub use port::{Outlet, Port};
pub use request::{Answers, NoAnswers, Receipt, Request, Upload};

/// A link that stands. Cheap to clone through `Arc`; closed by [`Link::close`].
pub struct Link {
    key: Key,
    target: String,
    frames: mpsc::UnboundedSender<Frame>,
    state: Mutex<State>,
    session: Arc<dyn Session>,
    /// What sudo, su or doas was given when the agent was started.
    password: Option<Secret>,
    next: AtomicU32,
    calls: AtomicU64,
    started: Instant,
    since: u64,
    hello: Hello,
}

#[derive(Default)]
struct State {
    ports: HashMap<RequestId, Open>,
    /// Which call an agent's question belongs to.
    asks: HashMap<RequestId, RequestId>,
    /// Why the link is no more.
    lost: Option<Failure>,
    last_use: Option<Instant>,
}

struct Open {
    frames: mpsc::UnboundedSender<Frame>,
    /// Who asked for what, for people who look.
    user: String,
}

impl Link {
    /// Greets the agent and starts to listen.
    pub async fn open(
        key: Key,
        target: &str,
        started: Started,
        session: Arc<dyn Session>,
    ) -> Result<Arc<Link>, Failure> {
        let Started { program, first_bytes, password } = started;
        let version = env!("CARGO_PKG_VERSION").into();
        let greeting = Hello { protocol: PROTOCOL, version, pid: 0, extent: Extent::default() };
        let (hello, pump) = pump::greet(program, first_bytes, greeting).await?;
        let (frames, outgoing) = mpsc::unbounded_channel();
        let link = Arc::new(Link {
            key,
            target: target.to_owned(),
            frames,
            state: Mutex::default(),
            session,
            password,
            next: AtomicU32::new(1),
            calls: AtomicU64::new(0),
            started: Instant::now(),
            since: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            hello,
        });
        pump.run(Arc::downgrade(&link), outgoing);
        Ok(link)
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The login that it goes through.
    pub fn session(&self) -> &Arc<dyn Session> {
        &self.session
    }

    /// What sudo, su or doas was given, for the next agent over the same login.
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// What the agent can do.
    pub fn extent(&self) -> Extent {
        self.hello.extent
    }

    /// Starts a request. Dropping the port cancels it, unless the target is to keep its result.
    pub fn port(self: &Arc<Link>, user: &str) -> Result<Port, Failure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) & !rocksalt_core::frame::FIRST_ASK;
        let id = id.max(1);
        let (sender, frames) = mpsc::unbounded_channel();
        let mut state = self.lock();
        if let Some(failure) = &state.lost {
            return Err(failure.clone());
        }
        state.ports.insert(id, Open { frames: sender, user: user.to_owned() });
        state.last_use = Some(Instant::now());
        drop(state);
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Port::new(frames, Box::new(LinkOutlet { link: Arc::clone(self), id })))
    }

    /// Why it is no more; `None` while it stands.
    pub fn lost(&self) -> Option<Failure> {
        self.lock().lost.clone()
    }

    /// How many requests run.
    pub fn busy(&self) -> usize {
        self.lock().ports.len()
    }

    /// How long nobody used it; zero while somebody does.
    pub fn idle(&self) -> std::time::Duration {
        let state = self.lock();
        match state.ports.is_empty() {
            true => state.last_use.unwrap_or(self.started).elapsed(),
            false => std::time::Duration::ZERO,
        }
    }

    pub fn info(&self) -> Info {
        let state = self.lock();
        Info {
            key: self.key.clone(),
            target: self.target.clone(),
            since: self.since,
            idle: if state.ports.is_empty() { state.last_use.unwrap_or(self.started).elapsed().as_secs() } else { 0 },
            calls: self.calls.load(Ordering::Relaxed),
            users: state.ports.values().map(|open| open.user.clone()).collect(),
            agent_version: self.hello.version.clone(),
            agent_pid: self.hello.pid,
            extent: self.hello.extent,
        }
    }

    /// Says good-bye and ends the login. Whoever still waits hears that it was closed.
    ///
    /// With `wipe` the agent removes its own file from the target.
    pub async fn close(&self, wipe: bool) {
        self.leave(wipe).await;
        self.session.close().await;
    }

    /// Ends the agent; the login stays.
    pub async fn leave(&self, wipe: bool) {
        let _ = self.frames.send(Frame::new(LINK, Message::Bye { wipe }));
        // The good-bye must be out before the way is closed; the agent answers by closing its end.
        for _ in 0..20 {
            if self.lock().lost.is_some() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.lose(Failure::new(Stage::Link, "the link was closed"));
    }

    fn lose(&self, failure: Failure) {
        let mut state = self.lock();
        state.lost.get_or_insert(failure);
        // Their receivers end, and find the reason in `lost`.
        state.ports.clear();
        state.asks.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a frame of the agent to whom it belongs. What nobody waits for is dropped.
    fn route(&self, frame: Frame) {
        let mut state = self.lock();
        let (request, id) = match &frame.message {
            Message::Ask(parent, _) => {
                let parent = *parent;
                state.asks.insert(frame.id, parent);
                (parent, frame.id)
            }
            _ if frame.id >= rocksalt_core::frame::FIRST_ASK => match state.asks.get(&frame.id) {
                Some(parent) => (*parent, frame.id),
                None => return,
            },
            _ => (frame.id, LINK),
        };
        let ended = matches!(frame.message, Message::Return(_));
        if let Some(open) = state.ports.get(&request) {
            let _ = open.frames.send(Frame { id, message: frame.message });
        }
        if ended {
            state.ports.remove(&request);
            state.asks.retain(|_, parent| *parent != request);
            state.last_use = Some(Instant::now());
        }
    }
}

/// A port's way out onto the link.
struct LinkOutlet {
    link: Arc<Link>,
    id: RequestId,
}

impl Outlet for LinkOutlet {
    fn send(&self, frame: Frame) {
        let id = if frame.id == LINK { self.id } else { frame.id };
        if let Message::Answer(_) = &frame.message {
            self.link.lock().asks.remove(&id);
        }
        let _ = self.link.frames.send(Frame { id, message: frame.message });
    }

    fn close(&self) {
        // Still open: nobody waits for the result any more, so the target need not work on it, unless it keeps it.
        if self.link.lock().ports.contains_key(&self.id) {
            let _ = self.link.frames.send(Frame::new(self.id, Message::Abandon));
        }
    }

    fn lost(&self) -> Failure {
        self.link.lost().unwrap_or_else(|| Failure::new(Stage::Link, "the agent gave no result"))
    }
}
