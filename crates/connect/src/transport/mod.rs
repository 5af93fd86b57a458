//! How to get a running program on a target with its three pipes.
//!
//! To add one: write a file with a [`Transport`], and put it in [`open`].

mod local;
mod openssh;
mod ssh;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Key, Stage};
use rocksalt_core::nearest;
use rocksalt_core::roster::Entry;
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// The names that a roster may use.
pub const NAMES: [&str; 3] = ["local", "openssh", "ssh"];

#[async_trait]
pub trait Transport: Send + Sync {
    /// By this the link is found again; two entries with the same key share one.
    fn key(&self, entry: &Entry) -> Key;

    /// Connects and logs in. Times out by itself.
    async fn connect(&self, entry: &Entry, caller: &Caller<'_>) -> Result<Box<dyn Session>, Failure>;
}

/// On whose behalf a connection is made.
pub struct Caller<'a> {
    pub prompt: &'a dyn Prompt,
    /// The ssh-agent's socket, if there is one.
    pub agent_socket: Option<&'a Path>,
    /// Hears of each stage that is done, for `hosts --check`.
    pub progress: &'a (dyn Fn(Stage) + Send + Sync),
}

/// The person whose settings and keys are used.
#[derive(Clone, Debug)]
pub struct LocalUser {
    pub name: String,
    pub home: PathBuf,
    pub uid: u32,
    /// This machine's own name.
    pub hostname: String,
    /// For `${NAME}` in the ssh configuration.
    pub environment: BTreeMap<String, String>,
}

/// The key of an entry when nothing but the entry counts.
pub fn plain_key(entry: &Entry, local_user: &LocalUser) -> Key {
    Key {
        transport: entry.transport.clone(),
        user: entry.user.clone().unwrap_or_else(|| local_user.name.clone()),
        address: entry.host.clone(),
        port: entry.port.unwrap_or(22),
        escalated: entry
            .escalate
            .as_ref()
            .map(|wish| format!("{}:{}", wish.method.name(), wish.user))
            .unwrap_or_default(),
    }
}

/// A login that stands.
#[async_trait]
pub trait Session: Send + Sync {
    /// Starts a command, given as one word for the login shell, with a terminal if it must have one.
    async fn exec(&self, command: &str, tty: bool) -> Result<Program, Failure>;

    /// The command that starts an agent which is there already; `None` if one must be put there.
    fn own_agent(&self) -> Option<String> {
        None
    }

    /// The agent started without any command around it, where that can be.
    async fn start_own_agent(&self) -> Result<Option<Program>, Failure> {
        Ok(None)
    }

    /// True if the way to the target is so short that compressing costs more than it saves.
    fn near(&self) -> bool {
        false
    }

    /// Ends the login. What runs through it is cut off.
    async fn close(&self);
}

/// A command that runs on the target.
pub struct Program {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// How much the target is ready to take, said anew as it takes what it got; `None` if the way there doesn't tell.
    pub room: Option<watch::Receiver<u32>>,
}

/// Asks the person at the terminal, if there is one.
#[async_trait]
pub trait Prompt: Send + Sync {
    /// `None` if nobody can be asked or nobody answered.
    async fn secret(&self, question: &str) -> Option<Secret>;

    /// Tells them something that they should know.
    async fn tell(&self, _: &str) {}
}

/// For where nobody can be asked.
pub struct NoPrompt;

#[async_trait]
impl Prompt for NoPrompt {
    async fn secret(&self, _: &str) -> Option<Secret> {
        None
    }
}

pub fn open(name: &str, local_user: &LocalUser) -> Result<Box<dyn Transport>, Failure> {
    match name {
        "local" => Ok(Box::new(local::Local(local_user.clone()))),
        "openssh" => Ok(Box::new(openssh::OpenSsh(local_user.clone()))),
        "ssh" => Ok(Box::new(ssh::Ssh::new(local_user))),
        other => Err(unknown(other)),
    }
}

/// There is no transport of this name.
pub fn unknown(name: &str) -> Failure {
    Failure::new(Stage::Settings, format!("there is no transport '{name}'{}", nearest::hint(name, NAMES)))
        .hint(format!("known: {}", NAMES.join(", ")))
}
