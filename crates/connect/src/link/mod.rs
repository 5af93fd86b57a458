//! A link: runs many calls concurrently over one pair of pipes.

mod channel;
mod log_limit;
mod pump;
mod request;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::frame::{Frame, Hello, LINK, Message, PROTOCOL, RequestId};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, LinkKey, Stage};
use rocksalt_core::log::LogRecord;
use rocksalt_core::secret::Secret;
use tokio::sync::mpsc;

use crate::bootstrap::RunningAgent;
use crate::log::{ms, printable};
use crate::transport::LoginSession;

use log_limit::LogLimit;

pub use channel::{FrameSink, RequestChannel};
pub use request::{Answers, IncomingStream, NoAnswers, Receipt, RemoteCall};

/// An open link. Shared through `Arc`; closed by [`Link::close`].
pub struct Link {
    key: LinkKey,
    target: String,
    frames: mpsc::UnboundedSender<Frame>,
    state: Mutex<LinkState>,
    session: Arc<dyn LoginSession>,
    /// The password that sudo, su or doas accepted when the agent was started.
    password: Option<Secret>,
    next: AtomicU32,
    calls: AtomicU64,
    started: Instant,
    since: u64,
    hello: Hello,
}

#[derive(Default)]
struct LinkState {
    channels: HashMap<RequestId, OpenRequest>,
    /// The call to which each request of the agent belongs.
    asks: HashMap<RequestId, RequestId>,
    /// Why the link ended.
    lost: Option<LinkFailure>,
    last_use: Option<Instant>,
    /// Created by the first diagnostic line of the agent.
    log_limit: Option<LogLimit>,
}

impl LinkState {
    /// The line shortened to its limits, or `None` if the rate is exceeded.
    fn limit_log(&mut self, record: LogRecord) -> Option<LogRecord> {
        let now = Instant::now();
        let dropped = self.log_limit.get_or_insert_with(|| LogLimit::new(now)).admit(now)?;
        let mut record = record.bounded();
        if dropped > 0 {
            record.text += &format!(" ({dropped} lines before this one were dropped: too many)");
        }
        Some(record)
    }
}

struct OpenRequest {
    frames: mpsc::UnboundedSender<Frame>,
    /// The user and the function, for `rocksalt links`.
    user: String,
}

impl Link {
    /// Exchanges greetings with the agent and starts receiving frames.
    pub async fn open(
        key: LinkKey,
        target: &str,
        started: RunningAgent,
        session: Arc<dyn LoginSession>,
    ) -> Result<Arc<Link>, LinkFailure> {
        let RunningAgent { program, first_bytes, password } = started;
        let version = env!("CARGO_PKG_VERSION").into();
        let greeting = Hello { protocol: PROTOCOL, version, pid: 0, agent_kind: AgentKind::default() };
        let began = Instant::now();
        let (hello, pump) = pump::greet(program, first_bytes, greeting).await?;
        let (version, pid, agent) = (printable(&hello.version), hello.pid, hello.agent_kind.name());
        tracing::debug!(version, pid, agent, ms = ms(began), "the agent greeted");
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

    pub fn key(&self) -> &LinkKey {
        &self.key
    }

    /// The login that carries the link.
    pub fn session(&self) -> &Arc<dyn LoginSession> {
        &self.session
    }

    /// The password that sudo, su or doas accepted, for the next agent over the same login.
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// Which agent is at the other end.
    pub fn agent_kind(&self) -> AgentKind {
        self.hello.agent_kind
    }

    /// Starts a request. Dropping the channel cancels it, unless the target keeps its result.
    pub fn open_channel(self: &Arc<Link>, user: &str) -> Result<RequestChannel, LinkFailure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) & !rocksalt_core::frame::FIRST_ASK;
        let id = id.max(1);
        let (sender, frames) = mpsc::unbounded_channel();
        let mut state = self.lock();
        if let Some(failure) = &state.lost {
            return Err(failure.clone());
        }
        state.channels.insert(id, OpenRequest { frames: sender, user: user.to_owned() });
        state.last_use = Some(Instant::now());
        drop(state);
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(RequestChannel::new(frames, Box::new(LinkSink { link: Arc::clone(self), id })))
    }

    /// Why the link ended; `None` while it is open.
    pub fn lost(&self) -> Option<LinkFailure> {
        self.lock().lost.clone()
    }

    /// The number of running requests.
    pub fn busy(&self) -> usize {
        self.lock().channels.len()
    }

    /// The time since the last request; zero while one runs.
    pub fn idle(&self) -> std::time::Duration {
        let state = self.lock();
        match state.channels.is_empty() {
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
            idle: if state.channels.is_empty() {
                state.last_use.unwrap_or(self.started).elapsed().as_secs()
            } else {
                0
            },
            calls: self.calls.load(Ordering::Relaxed),
            users: state.channels.values().map(|open| open.user.clone()).collect(),
            agent_version: self.hello.version.clone(),
            agent_pid: self.hello.pid,
            agent_kind: self.hello.agent_kind,
        }
    }

    /// Stops the agent and ends the login. Requests that still run fail.
    ///
    /// With `wipe` the agent removes its own file from the target.
    pub async fn close(&self, wipe: bool) {
        self.stop_agent(wipe).await;
        self.session.close().await;
    }

    /// Stops the agent; the login stays open.
    pub async fn stop_agent(&self, wipe: bool) {
        let _ = self.frames.send(Frame::new(LINK, Message::Bye { wipe }));
        // The message must be sent before the connection is closed; the agent answers by closing its end.
        for _ in 0..20 {
            if self.lock().lost.is_some() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.mark_lost(LinkFailure::new(Stage::Link, "the link was closed"));
    }

    fn mark_lost(&self, failure: LinkFailure) {
        let mut state = self.lock();
        state.lost.get_or_insert(failure);
        // The receivers end, and read the reason from `lost`.
        state.channels.clear();
        state.asks.clear();
    }

    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a frame of the agent to its request. A frame without a request is dropped.
    fn route(&self, frame: Frame) {
        let mut state = self.lock();
        let frame = match frame {
            Frame { id, message: Message::Log(record) } => match state.limit_log(record) {
                Some(record) => Frame { id, message: Message::Log(record) },
                None => return,
            },
            frame => frame,
        };
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
        if let Some(open) = state.channels.get(&request) {
            let _ = open.frames.send(Frame { id, message: frame.message });
        }
        if ended {
            state.channels.remove(&request);
            state.asks.retain(|_, parent| *parent != request);
            state.last_use = Some(Instant::now());
        }
    }
}

/// Sends the frames of a request over the link.
struct LinkSink {
    link: Arc<Link>,
    id: RequestId,
}

impl FrameSink for LinkSink {
    fn send(&self, frame: Frame) {
        let id = if frame.id == LINK { self.id } else { frame.id };
        if let Message::Answer(_) = &frame.message {
            self.link.lock().asks.remove(&id);
        }
        let _ = self.link.frames.send(Frame { id, message: frame.message });
    }

    fn close(&self) {
        // The request still runs, but nothing waits for its result: the target cancels it, unless it keeps the result.
        if self.link.lock().channels.contains_key(&self.id) {
            let _ = self.link.frames.send(Frame::new(self.id, Message::Abandon));
        }
    }

    fn lost(&self) -> LinkFailure {
        self.link.lost().unwrap_or_else(|| LinkFailure::new(Stage::Link, "the agent gave no result"))
    }
}
