//! The keeper itself.

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
use rocksalt_core::link::{Extent, Failure, Stage};
use rocksalt_core::roster::Entry;
use rocksalt_core::secret::Secret;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc, oneshot};

use super::wire::{self, Reader};
use crate::link::{Link, Port};
use crate::pool::{Pool, Wish};
use crate::transport::Prompt;

pub struct Settings {
    pub socket: PathBuf,
    /// Names this build: other builds' commands get a keeper of their own.
    pub build: String,
    /// Only this user may connect.
    pub uid: u32,
    /// Ends when there was neither a link nor a command for so long.
    pub linger: Duration,
}

struct Keeper {
    settings: Settings,
    pool: Arc<Pool>,
    clients: AtomicUsize,
    stop: Notify,
}

/// Serves until it is told to stop or nobody needs it any more. `ready` is called once it listens.
pub async fn serve(pool: Arc<Pool>, settings: Settings, ready: impl FnOnce()) -> io::Result<()> {
    // A keeper that was killed leaves its socket behind; the caller holds the lock that says so.
    let _ = std::fs::remove_file(&settings.socket);
    let listener = UnixListener::bind(&settings.socket)?;
    std::fs::set_permissions(&settings.socket, std::fs::Permissions::from_mode(0o600))?;
    let socket = settings.socket.clone();
    let keeper = Arc::new(Keeper { settings, pool, clients: AtomicUsize::new(0), stop: Notify::new() });
    ready();
    let mut needed = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut ticks = 0u32;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    tokio::spawn(Arc::clone(&keeper).client(stream));
                    needed = Instant::now();
                }
            }
            _ = tick.tick() => {
                ticks += 1;
                if ticks.is_multiple_of(10) {
                    keeper.pool.reap().await;
                }
                if keeper.clients.load(Ordering::Relaxed) > 0 || !keeper.pool.list().is_empty() {
                    needed = Instant::now();
                } else if needed.elapsed() > keeper.settings.linger {
                    break;
                }
            }
            () = keeper.stop.notified() => break,
        }
    }
    // Out of the way first, so that the next command starts a new one.
    let _ = std::fs::remove_file(&socket);
    keeper.pool.close(|_| true, false).await;
    Ok(())
}

impl Keeper {
    async fn client(self: Arc<Keeper>, stream: UnixStream) {
        // The directory lets nobody else in; this holds even if somebody loosened it.
        if stream.peer_cred().map_or(true, |peer| peer.uid() != self.settings.uid) {
            return;
        }
        self.clients.fetch_add(1, Ordering::Relaxed);
        let (read, write) = stream.into_split();
        let (say, outgoing) = mpsc::unbounded_channel();
        let writer = tokio::spawn(wire::write(write, outgoing));
        let client = Arc::new(Client {
            keeper: Arc::clone(&self),
            say,
            agent_socket: Mutex::default(),
            lines: Mutex::default(),
            ports: Mutex::default(),
            questions: Mutex::default(),
            next_question: AtomicU32::new(1),
        });
        client.listen(Reader::new(read)).await;
        drop(client);
        let _ = writer.await;
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A command that is connected.
struct Client {
    keeper: Arc<Keeper>,
    say: mpsc::UnboundedSender<FromKeeper>,
    agent_socket: Mutex<Option<PathBuf>>,
    lines: Mutex<HashMap<u32, Arc<Link>>>,
    ports: Mutex<HashMap<u32, mpsc::UnboundedSender<Frame>>>,
    questions: Mutex<HashMap<u32, oneshot::Sender<Option<Secret>>>>,
    next_question: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    async fn listen(self: &Arc<Client>, mut reader: Reader<tokio::net::unix::OwnedReadHalf, ToKeeper>) {
        while let Ok(Some(message)) = reader.next().await {
            match message {
                ToKeeper::Hello { agent_socket, .. } => {
                    *lock(&self.agent_socket) = agent_socket;
                    let build = self.keeper.settings.build.clone();
                    self.say(FromKeeper::Hello { build });
                }
                ToKeeper::Open { ticket, entry, wipe, verbose, extent } => {
                    let client = Arc::clone(self);
                    tokio::spawn(async move { client.open(ticket, &entry, extent, wipe, verbose).await });
                }
                ToKeeper::Beside { ticket, entry } => {
                    let client = Arc::clone(self);
                    tokio::spawn(async move { client.beside(ticket, &entry).await });
                }
                ToKeeper::Start { port, ticket, user } => self.start(port, ticket, &user),
                ToKeeper::Frame { port, id, message } => {
                    if let Some(frames) = lock(&self.ports).get(&port) {
                        let _ = frames.send(Frame { id, message });
                    }
                }
                // Its task ends with its sender, and drops the port: that cancels what still runs.
                ToKeeper::End { port } => drop(lock(&self.ports).remove(&port)),
                ToKeeper::List => self.say(FromKeeper::Links { links: self.keeper.pool.list() }),
                ToKeeper::Close { targets, wipe } => {
                    let client = Arc::clone(self);
                    tokio::spawn(async move {
                        let which =
                            |info: &rocksalt_core::link::Info| targets.is_empty() || targets.contains(&info.target);
                        let count = client.keeper.pool.close(which, wipe).await;
                        client.say(FromKeeper::Closed { count: count as u32 });
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
        // The command is gone: what it still waited for is cancelled.
        lock(&self.ports).clear();
        lock(&self.questions).clear();
        lock(&self.lines).clear();
    }

    fn say(&self, message: FromKeeper) {
        let _ = self.say.send(message);
    }

    async fn open(&self, ticket: u32, entry: &Entry, extent: Extent, wipe: bool, verbose: bool) {
        let agent_socket = lock(&self.agent_socket).clone();
        let say = self.say.clone();
        let progress = move |stage: Stage| {
            if verbose {
                let _ = say.send(FromKeeper::Reached { ticket, stage });
            }
        };
        let agent_socket = agent_socket.as_deref();
        let wish = Wish { entry, prompt: self, agent_socket, extent, wipe, progress: &progress };
        self.opened(ticket, self.keeper.pool.link(&wish).await);
    }

    async fn beside(&self, ticket: u32, entry: &Entry) {
        let none = || Failure::new(Stage::Link, "only one agent is at work there");
        self.opened(ticket, self.keeper.pool.beside(entry).await.ok_or_else(none));
    }

    fn opened(&self, ticket: u32, link: Result<Arc<Link>, Failure>) {
        match link {
            Ok(link) => {
                lock(&self.lines).insert(ticket, link);
                self.say(FromKeeper::Opened { ticket });
            }
            Err(failure) => self.say(FromKeeper::Failed { ticket, failure }),
        }
    }

    fn start(self: &Arc<Client>, port: u32, ticket: u32, user: &str) {
        let link = lock(&self.lines).get(&ticket).cloned();
        let opened = match link {
            Some(link) => link.port(user),
            None => Err(Failure::new(Stage::Link, "the keeper knows no such link")),
        };
        match opened {
            Ok(open) => {
                let (sender, frames) = mpsc::unbounded_channel();
                lock(&self.ports).insert(port, sender);
                tokio::spawn(relay(self.say.clone(), port, open, frames));
            }
            Err(failure) => self.say(FromKeeper::Lost { port, failure }),
        }
    }
}

/// Carries a request's frames between a command and a link.
async fn relay(
    say: mpsc::UnboundedSender<FromKeeper>,
    number: u32,
    mut port: Port,
    mut frames: mpsc::UnboundedReceiver<Frame>,
) {
    loop {
        tokio::select! {
            frame = port.next() => match frame {
                Ok(Frame { id, message }) => {
                    if say.send(FromKeeper::Frame { port: number, id, message }).is_err() {
                        return;
                    }
                }
                Err(failure) => {
                    let _ = say.send(FromKeeper::Lost { port: number, failure });
                    return;
                }
            },
            frame = frames.recv() => match frame {
                Some(Frame { id, message }) => port.answer(id, message),
                None => return,
            },
        }
    }
}

#[async_trait]
impl Prompt for Client {
    /// Questions go to the terminal of the command that wants the link.
    async fn secret(&self, text: &str) -> Option<Secret> {
        let question = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.questions).insert(question, sender);
        self.say(FromKeeper::Question { question, text: text.to_owned() });
        answer.await.ok().flatten()
    }

    async fn tell(&self, text: &str) {
        self.say(FromKeeper::Notice { text: text.to_owned() });
    }
}
