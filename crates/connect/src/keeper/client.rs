//! The client side of the keeper's socket.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rocksalt_core::frame::Frame;
use rocksalt_core::keeper::{FromKeeper, ToKeeper};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::log::LogRecord;
use rocksalt_core::roster::RosterEntry;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::wire::{self, Reader};
use crate::link::{FrameSink, RequestChannel};
use crate::links::{LinkHandle, Links, Progress};
use crate::log;
use crate::transport::Prompt;

/// Links that the keeper holds.
pub struct KeeperLinks {
    shared: Arc<Shared>,
}

struct Shared {
    messages: mpsc::UnboundedSender<ToKeeper>,
    state: Mutex<KeeperState>,
    next: AtomicU32,
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct KeeperState {
    opening: HashMap<u32, Opening>,
    channels: HashMap<u32, mpsc::UnboundedSender<Frame>>,
    /// Why a request ended without a result.
    lost: HashMap<u32, LinkFailure>,
    lists: Vec<oneshot::Sender<Vec<Info>>>,
    closes: Vec<oneshot::Sender<usize>>,
}

struct Opening {
    done: oneshot::Sender<Result<(), LinkFailure>>,
    reports: mpsc::UnboundedSender<Report>,
}

/// What the keeper reports while it opens a link.
enum Report {
    Stage(Stage),
    Log(LogRecord),
}

impl KeeperLinks {
    /// Connects to a running keeper. `None` if there is none, or if it is of another build: then it is asked to stop.
    pub async fn connect(
        socket: &Path,
        build: &str,
        agent_socket: Option<PathBuf>,
        prompt: Arc<dyn Prompt>,
    ) -> Option<KeeperLinks> {
        let stream = UnixStream::connect(socket).await.ok()?;
        let (read, write) = stream.into_split();
        let (messages, outgoing) = mpsc::unbounded_channel();
        tokio::spawn(wire::write(write, outgoing));
        let _ = messages.send(ToKeeper::Hello { build: build.to_owned(), agent_socket });
        let mut reader = Reader::new(read);
        match reader.next().await {
            Ok(Some(FromKeeper::Hello { build: other })) if other == build => {}
            Ok(Some(_)) => {
                let _ = messages.send(ToKeeper::Stop);
                // The keeper closes its end when it stops.
                let _ = reader.next().await;
                return None;
            }
            _ => return None,
        }
        let shared = Arc::new(Shared {
            messages,
            state: Mutex::default(),
            next: AtomicU32::new(1),
            ended: watch::Sender::new(false),
        });
        tokio::spawn(receive(reader, Arc::clone(&shared), prompt));
        Some(KeeperLinks { shared })
    }

    /// Sends a request for a link, under a new ticket, and waits for the link.
    async fn request_link(
        &self,
        progress: Option<&Progress>,
        message: impl FnOnce(u32) -> ToKeeper,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        let ticket = self.shared.number();
        let (done, mut opened) = oneshot::channel();
        let (reports, mut reported) = mpsc::unbounded_channel();
        self.shared.lock().opening.insert(ticket, Opening { done, reports });
        self.shared.messages.send(message(ticket)).map_err(|_| gone())?;
        loop {
            tokio::select! {
                biased;
                Some(report) = reported.recv() => match report {
                    Report::Log(record) => log::emit_keeper(record),
                    Report::Stage(stage) => {
                        if let Some(progress) = progress {
                            progress(stage);
                        }
                    }
                },
                result = &mut opened => {
                    result.map_err(|_| gone())??;
                    return Ok(Arc::new(KeeperLinkHandle { shared: Arc::clone(&self.shared), ticket }));
                }
            }
        }
    }

    /// Closes all links and ends the keeper.
    pub async fn stop(&self) {
        let _ = self.shared.messages.send(ToKeeper::Stop);
        // The keeper closes the socket when it ends.
        let _ = self.shared.ended.subscribe().wait_for(|ended| *ended).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, KeeperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

fn gone() -> LinkFailure {
    LinkFailure::new(Stage::Link, "the keeper that held the links has ended")
        .hint("run it again: a new one will be started")
}

async fn receive(
    mut reader: Reader<tokio::net::unix::OwnedReadHalf, FromKeeper>,
    shared: Arc<Shared>,
    prompt: Arc<dyn Prompt>,
) {
    while let Ok(Some(message)) = reader.next().await {
        match message {
            FromKeeper::Notice { text } => {
                let prompt = Arc::clone(&prompt);
                tokio::spawn(async move { prompt.tell(&text).await });
            }
            FromKeeper::Question { question, text } => {
                let (messages, prompt) = (shared.messages.clone(), Arc::clone(&prompt));
                tokio::spawn(async move {
                    let answer = prompt.secret(&text).await;
                    let _ = messages.send(ToKeeper::Secret { question, answer });
                });
            }
            message => shared.lock().dispatch(message),
        }
    }
    // All waiting tasks get an error.
    shared.ended.send_replace(true);
    let mut state = shared.lock();
    state.channels.clear();
    state.opening.clear();
    state.lists.clear();
    state.closes.clear();
}

impl KeeperState {
    /// Passes a message to the task that waits for it.
    fn dispatch(&mut self, message: FromKeeper) {
        match message {
            FromKeeper::Opened { ticket } => {
                if let Some(opening) = self.opening.remove(&ticket) {
                    let _ = opening.done.send(Ok(()));
                }
            }
            FromKeeper::Failed { ticket, failure } => {
                if let Some(opening) = self.opening.remove(&ticket) {
                    let _ = opening.done.send(Err(failure));
                }
            }
            FromKeeper::Reached { ticket, stage } => {
                if let Some(opening) = self.opening.get(&ticket) {
                    let _ = opening.reports.send(Report::Stage(stage));
                }
            }
            FromKeeper::Log { ticket, record } => {
                if let Some(opening) = self.opening.get(&ticket) {
                    let _ = opening.reports.send(Report::Log(record));
                }
            }
            FromKeeper::Frame { channel, id, message } => {
                if let Some(frames) = self.channels.get(&channel) {
                    let _ = frames.send(Frame { id, message });
                }
            }
            FromKeeper::Lost { channel, failure } => {
                self.lost.insert(channel, failure);
                self.channels.remove(&channel);
            }
            FromKeeper::Links { links } => {
                if !self.lists.is_empty() {
                    let _ = self.lists.remove(0).send(links);
                }
            }
            FromKeeper::Closed { count } => {
                if !self.closes.is_empty() {
                    let _ = self.closes.remove(0).send(count as usize);
                }
            }
            FromKeeper::Hello { .. } | FromKeeper::Notice { .. } | FromKeeper::Question { .. } => {}
        }
    }
}

#[async_trait]
impl Links for KeeperLinks {
    async fn open(
        &self,
        entry: &RosterEntry,
        agent_kind: AgentKind,
        wipe: bool,
        progress: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        let (entry, verbose, log) = (Box::new(entry.clone()), progress.is_some(), log::level());
        self.request_link(progress, |ticket| ToKeeper::Open { ticket, entry, wipe, verbose, agent_kind, log }).await
    }

    async fn secondary_agent(&self, entry: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        let entry = Box::new(entry.clone());
        self.request_link(None, |ticket| ToKeeper::SecondaryAgent { ticket, entry }).await.ok()
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        let (sender, links) = oneshot::channel();
        self.shared.lock().lists.push(sender);
        self.shared.messages.send(ToKeeper::List).map_err(|_| gone())?;
        links.await.map_err(|_| gone())
    }

    async fn close(&self, targets: &[String], wipe: bool) -> Result<usize, LinkFailure> {
        let (sender, count) = oneshot::channel();
        self.shared.lock().closes.push(sender);
        self.shared.messages.send(ToKeeper::Close { targets: targets.to_vec(), wipe }).map_err(|_| gone())?;
        count.await.map_err(|_| gone())
    }
}

struct KeeperLinkHandle {
    shared: Arc<Shared>,
    ticket: u32,
}

impl LinkHandle for KeeperLinkHandle {
    fn open_channel(&self, user: &str) -> Result<RequestChannel, LinkFailure> {
        let channel = self.shared.number();
        let (sender, frames) = mpsc::unbounded_channel();
        self.shared.lock().channels.insert(channel, sender);
        let start = ToKeeper::Start { channel, ticket: self.ticket, user: user.to_owned() };
        self.shared.messages.send(start).map_err(|_| gone())?;
        Ok(RequestChannel::new(frames, Box::new(KeeperSink { shared: Arc::clone(&self.shared), channel })))
    }
}

struct KeeperSink {
    shared: Arc<Shared>,
    channel: u32,
}

impl FrameSink for KeeperSink {
    fn send(&self, frame: Frame) {
        let message = ToKeeper::Frame { channel: self.channel, id: frame.id, message: frame.message };
        let _ = self.shared.messages.send(message);
    }

    fn close(&self) {
        let mut state = self.shared.lock();
        state.channels.remove(&self.channel);
        state.lost.remove(&self.channel);
        drop(state);
        let _ = self.shared.messages.send(ToKeeper::End { channel: self.channel });
    }

    fn lost(&self) -> LinkFailure {
        self.shared.lock().lost.remove(&self.channel).unwrap_or_else(gone)
    }
}
