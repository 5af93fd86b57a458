//! Transports: log in to a target and run a program there with its three pipes.
//!
//! To add one: write a file with a [`Transport`], and add it to [`NAMES`] and [`open`].

mod local;
mod openssh;
mod ssh;

use std::path::Path;

use async_trait::async_trait;
use rocksalt_core::link::{LinkFailure, LinkKey, Stage};
use rocksalt_core::nearest;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::LocalUser;
use crate::agents::Agent;

/// The names that a roster may use.
pub const NAMES: [&str; 3] = ["local", "openssh", "ssh"];

#[async_trait]
pub trait Transport: Send + Sync {
    /// Identifies the link; entries with the same key share one link.
    fn key(&self, entry: &RosterEntry) -> LinkKey;

    /// Connects and logs in, within its own time limit.
    async fn connect(
        &self,
        entry: &RosterEntry,
        caller: &LoginContext<'_>,
    ) -> Result<Box<dyn LoginSession>, LinkFailure>;
}

/// What a login needs besides the roster entry.
pub struct LoginContext<'a> {
    pub prompt: &'a dyn Prompt,
    /// The ssh-agent's socket, if there is one.
    pub agent_socket: Option<&'a Path>,
    /// Called after each completed stage, for `hosts --check`.
    pub progress: &'a (dyn Fn(Stage) + Send + Sync),
}

/// The link key of an entry, without the ssh configuration.
pub fn key_from_entry(entry: &RosterEntry, local_user: &LocalUser) -> LinkKey {
    LinkKey {
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

/// An open login.
#[async_trait]
pub trait LoginSession: Send + Sync {
    /// Starts a command line of the login shell, with a terminal if `tty`.
    async fn exec(&self, command: &str, tty: bool) -> Result<Program, LinkFailure>;

    /// The target's architecture, if it is known without asking the target.
    fn machine(&self) -> Option<&'static str> {
        None
    }

    /// Starts an agent without the bootstrap script, if that is possible.
    async fn start_directly(&self, _: &Agent) -> Option<Program> {
        None
    }

    /// Whether the network is so fast that compression costs more than it saves.
    fn near(&self) -> bool {
        false
    }

    /// Ends the login. Commands that run through it lose their pipes.
    async fn close(&self);
}

/// A running command on the target.
pub struct Program {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// The send window in bytes, updated as the target reads; `None` if the transport doesn't report it.
    pub room: Option<watch::Receiver<u32>>,
}

/// Asks the user at the terminal, if there is one.
#[async_trait]
pub trait Prompt: Send + Sync {
    /// Asks for a secret. `None` if there is no terminal or no reply.
    async fn secret(&self, question: &str) -> Option<Secret>;

    /// Shows a notice.
    async fn tell(&self, _: &str) {}
}

/// Answers no question: for processes without a terminal.
pub struct NoPrompt;

#[async_trait]
impl Prompt for NoPrompt {
    async fn secret(&self, _: &str) -> Option<Secret> {
        None
    }
}

pub fn open(name: &str, local_user: &LocalUser) -> Result<Box<dyn Transport>, LinkFailure> {
    match name {
        "local" => Ok(Box::new(local::LocalTransport(local_user.clone()))),
        "openssh" => Ok(Box::new(openssh::OpenSsh(local_user.clone()))),
        "ssh" => Ok(Box::new(ssh::Ssh::new(local_user))),
        other => Err(unknown(other)),
    }
}

/// The failure for an unknown transport.
pub fn unknown(name: &str) -> LinkFailure {
    LinkFailure::new(Stage::Settings, format!("there is no transport '{name}'{}", nearest::hint(name, NAMES)))
        .hint(format!("known: {}", NAMES.join(", ")))
}
