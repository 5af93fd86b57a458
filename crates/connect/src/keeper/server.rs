//! The server side of the keeper's socket.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rocksalt_core::frame::Frame;
use rocksalt_core::keeper::{FromKeeper, ToKeeper};
use rocksalt_core::link::{AgentKind, LinkFailure, Stage};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::secret::Secret;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::instrument::WithSubscriber;

use super::log::Forward;
use super::wire::{self, Reader};
use crate::link::{Link, RequestChannel};
use crate::pool::{LinkRequest, Pool};
use crate::transport::Prompt;

pub struct Settings {
    pub socket: PathBuf,
    /// Identifies this build: commands of another build start their own keeper.
    pub build: String,
    /// Only this user may connect.
    pub uid: u32,
    /// How long the keeper stays running without a link and without a client.
    pub linger: Duration,
}

struct Keeper {
    settings: Settings,
    pool: Arc<Pool>,
    clients: AtomicUsize,
    stop: Notify,
}

/// Serves until it is asked to stop or has been unused for too long. `ready` is called once it listens.
pub async fn serve(pool: Arc<Pool>, settings: Settings, ready: impl FnOnce()) -> io::Result<()> {
    // A killed keeper leaves its socket behind. The caller holds the lock, so no keeper runs.
    let _ = std::fs::remove_file(&settings.socket);
    let listener = UnixListener::bind(&settings.socket)?;
    std::fs::set_permissions(&settings.socket, std::fs::Permissions::from_mode(0o600))?;
    let socket = settings.socket.clone();
    let keeper = Arc::new(Keeper { settings, pool, clients: AtomicUsize::new(0), stop: Notify::new() });
    ready();
    let mut last_used = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut ticks = 0u32;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    tokio::spawn(Arc::clone(&keeper).serve_client(stream));
                    last_used = Instant::now();
                }
            }
            _ = tick.tick() => {
                ticks += 1;
                if ticks.is_multiple_of(10) {
                    keeper.pool.reap().await;
                }
                if keeper.clients.load(Ordering::Relaxed) > 0 || !keeper.pool.list().is_empty() {
                    last_used = Instant::now();
                } else if last_used.elapsed() > keeper.settings.linger {
                    break;
                }
            }
            () = keeper.stop.notified() => break,
        }
    }
    // Removed first, so that the next command starts a new keeper.
    let _ = std::fs::remove_file(&socket);
    keeper.pool.close(|_| true, false).await;
    Ok(())
}

impl Keeper {
    async fn serve_client(self: Arc<Keeper>, stream: UnixStream) {
        // The directory is private; this check still protects if its mode was changed.
        if stream.peer_cred().map_or(true, |peer| peer.uid() != self.settings.uid) {
            return;
        }
        self.clients.fetch_add(1, Ordering::Relaxed);
        let (read, write) = stream.into_split();
        let (outgoing, messages) = mpsc::unbounded_channel();
        let writer = tokio::spawn(wire::write(write, messages));
        let client = Arc::new(KeeperClient {
            keeper: Arc::clone(&self),
            outgoing,
            agent_socket: Mutex::default(),
            links: Mutex::default(),
            channels: Mutex::default(),
            questions: Mutex::default(),
            next_question: AtomicU32::new(1),
        });
        client.receive(Reader::new(read)).await;
        drop(client);
        let _ = writer.await;
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connected command.
struct KeeperClient {
    keeper: Arc<Keeper>,
    outgoing: mpsc::UnboundedSender<FromKeeper>,
    agent_socket: Mutex<Option<PathBuf>>,
    links: Mutex<HashMap<u32, Arc<Link>>>,
    channels: Mutex<HashMap<u32, mpsc::UnboundedSender<Frame>>>,
    questions: Mutex<HashMap<u32, oneshot::Sender<Option<Secret>>>>,
    next_question: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeeperClient {
    async fn receive(self: &Arc<KeeperClient>, mut reader: Reader<tokio::net::unix::OwnedReadHalf, ToKeeper>) {
        while let Ok(Some(message)) = reader.next().await {
            match message {
                ToKeeper::Hello { agent_socket, .. } => {
                    *lock(&self.agent_socket) = agent_socket;
                    let build = self.keeper.settings.build.clone();
                    self.send(FromKeeper::Hello { build });
                }
                ToKeeper::Open { ticket, entry, wipe, verbose, agent_kind, log } => {
                    let client = Arc::clone(self);
                    let outgoing = self.outgoing.clone();
                    let send = move |record| drop(outgoing.send(FromKeeper::Log { ticket, record }));
                    let open = async move { client.open(ticket, &entry, agent_kind, wipe, verbose).await };
                    match log {
                        None => tokio::spawn(open),
                        Some(level) => tokio::spawn(open.with_subscriber(Forward { level, send })),
                    };
                }
                ToKeeper::SecondaryAgent { ticket, entry } => {
                    let client = Arc::clone(self);
                    tokio::spawn(async move { client.secondary_agent(ticket, &entry).await });
                }
                ToKeeper::Start { channel, ticket, user } => self.start(channel, ticket, &user),
                ToKeeper::Frame { channel, id, message } => {
                    if let Some(frames) = lock(&self.channels).get(&channel) {
                        let _ = frames.send(Frame { id, message });
                    }
                }
                // The task ends with its sender and drops the channel, which cancels the request.
                ToKeeper::End { channel } => drop(lock(&self.channels).remove(&channel)),
                ToKeeper::List => self.send(FromKeeper::Links { links: self.keeper.pool.list() }),
                ToKeeper::Close { targets, wipe } => {
                    let client = Arc::clone(self);
                    tokio::spawn(async move {
                        let which =
                            |info: &rocksalt_core::link::Info| targets.is_empty() || targets.contains(&info.target);
                        let count = client.keeper.pool.close(which, wipe).await;
                        client.send(FromKeeper::Closed { count: count as u32 });
                    });
                }
                ToKeeper::Secret { question, answer } => {
                    if let Some(waiting) = lock(&self.questions).remove(&question) {
                        let _ = waiting.send(answer);
                    }
                }
                ToKeeper::Stop => self.keeper.stop.notify_one(),
            }
        }
        // The command has disconnected: its requests are cancelled.
        lock(&self.channels).clear();
        lock(&self.questions).clear();
        lock(&self.links).clear();
    }

    fn send(&self, message: FromKeeper) {
        let _ = self.outgoing.send(message);
    }

    async fn open(&self, ticket: u32, entry: &RosterEntry, agent_kind: AgentKind, wipe: bool, verbose: bool) {
        let agent_socket = lock(&self.agent_socket).clone();
        let outgoing = self.outgoing.clone();
        let progress = move |stage: Stage| {
            if verbose {
                let _ = outgoing.send(FromKeeper::Reached { ticket, stage });
            }
        };
        let agent_socket = agent_socket.as_deref();
        let request = LinkRequest { entry, prompt: self, agent_socket, agent_kind, wipe, progress: &progress };
        self.report_opened(ticket, self.keeper.pool.link(&request).await);
    }

    async fn secondary_agent(&self, ticket: u32, entry: &RosterEntry) {
        let none = || LinkFailure::new(Stage::Link, "the target has only one agent");
        self.report_opened(ticket, self.keeper.pool.secondary_agent(entry).await.ok_or_else(none));
    }

    fn report_opened(&self, ticket: u32, link: Result<Arc<Link>, LinkFailure>) {
        match link {
            Ok(link) => {
                lock(&self.links).insert(ticket, link);
                self.send(FromKeeper::Opened { ticket });
            }
            Err(failure) => self.send(FromKeeper::Failed { ticket, failure }),
        }
    }

    fn start(self: &Arc<KeeperClient>, channel: u32, ticket: u32, user: &str) {
        let link = lock(&self.links).get(&ticket).cloned();
        let opened = match link {
            Some(link) => link.open_channel(user),
            None => Err(LinkFailure::new(Stage::Link, "the keeper has no such link")),
        };
        match opened {
            Ok(open) => {
                let (sender, frames) = mpsc::unbounded_channel();
                lock(&self.channels).insert(channel, sender);
                tokio::spawn(relay(self.outgoing.clone(), channel, open, frames));
            }
            Err(failure) => self.send(FromKeeper::Lost { channel, failure }),
        }
    }
}

/// Passes the frames of a request between a command and a link.
async fn relay(
    outgoing: mpsc::UnboundedSender<FromKeeper>,
    number: u32,
    mut channel: RequestChannel,
    mut frames: mpsc::UnboundedReceiver<Frame>,
) {
    loop {
        tokio::select! {
            frame = channel.next() => match frame {
                Ok(Frame { id, message }) => {
                    if outgoing.send(FromKeeper::Frame { channel: number, id, message }).is_err() {
                        return;
                    }
                }
                Err(failure) => {
                    let _ = outgoing.send(FromKeeper::Lost { channel: number, failure });
                    return;
                }
            },
            frame = frames.recv() => match frame {
                Some(Frame { id, message }) => channel.answer(id, message),
                None => return,
            },
        }
    }
}

#[async_trait]
impl Prompt for KeeperClient {
    /// Prompts at the terminal of the command that needs the link.
    async fn secret(&self, text: &str) -> Option<Secret> {
        let question = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.questions).insert(question, sender);
        self.send(FromKeeper::Question { question, text: text.to_owned() });
        answer.await.ok().flatten()
    }

    async fn tell(&self, text: &str) {
        self.send(FromKeeper::Notice { text: text.to_owned() });
    }
}
