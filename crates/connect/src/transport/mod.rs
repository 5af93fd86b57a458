//! How to get a running program on a target with its three pipes.
//!
//! To add one: write a file with a [`Transport`], and put it in [`open`].

mod openssh;

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Stage};
use rocksalt_core::nearest;
use rocksalt_core::roster::Entry;
use rocksalt_core::secret::Secret;
use tokio::io::{AsyncRead, AsyncWrite};

/// The names that a roster may use.
pub const NAMES: [&str; 3] = ["local", "openssh", "ssh"];

#[async_trait]
pub trait Transport: Send + Sync {
    /// Connects and logs in. Times out by itself.
    async fn connect(&self, entry: &Entry, prompt: &dyn Prompt) -> Result<Box<dyn Session>, Failure>;
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
}

/// Asks the person at the terminal, if there is one.
#[async_trait]
pub trait Prompt: Send + Sync {
    /// `None` if nobody can be asked or nobody answered.
    async fn secret(&self, question: &str) -> Option<Secret>;
}

/// For where nobody can be asked.
pub struct NoPrompt;

#[async_trait]
impl Prompt for NoPrompt {
    async fn secret(&self, _: &str) -> Option<Secret> {
        None
    }
}

pub fn open(name: &str) -> Result<Box<dyn Transport>, Failure> {
    match name {
        "openssh" => Ok(Box::new(openssh::OpenSsh)),
        other => Err(Failure::new(
            Stage::Settings,
            format!("there is no transport '{other}'{}", nearest::hint(other, NAMES)),
        )
        .hint(format!("known: {}", NAMES.join(", ")))),
    }
}
