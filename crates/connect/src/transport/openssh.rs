//! The transport over the system's `ssh`: for Kerberos, FIDO keys and `ProxyCommand`.
//!
//! A background ssh holds one login for all commands (`ControlMaster`), with its socket in a private
//! directory; each command is another ssh process that uses that socket.

mod arguments;
mod failure;

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rocksalt_core::link::{LinkFailure, LinkKey, Stage};
use rocksalt_core::roster::RosterEntry;
use tempfile::TempDir;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{LoginContext, LoginSession, Program, Transport, key_from_entry};
use crate::LocalUser;
use crate::log::ms;

const SSH: &str = "ssh";

/// Seconds that a login outlives its last command if rocksalt dies and can't end it.
const IDLE: u32 = 600;

pub struct OpenSsh(pub LocalUser);

#[async_trait]
impl Transport for OpenSsh {
    fn key(&self, entry: &RosterEntry) -> LinkKey {
        key_from_entry(entry, &self.0)
    }

    async fn connect(&self, entry: &RosterEntry, _: &LoginContext<'_>) -> Result<Box<dyn LoginSession>, LinkFailure> {
        no_passwords(entry)?;
        let directory = private_directory()?;
        let socket = directory.path().join("s");
        let words = arguments::login(entry, &socket, IDLE)?;
        let began = Instant::now();
        let login = Command::new(SSH)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| no_ssh(&error))?;
        // ssh's own limit applies per connection; jump hosts and the login itself take additional time.
        let limit = Duration::from_secs(u64::from(entry.timeout.unwrap_or(arguments::TIMEOUT)) * 2 + 10);
        let target = target(entry);
        let output = timeout(limit, login.wait_with_output())
            .await
            .map_err(|_| {
                LinkFailure::new(Stage::Login, format!("ssh to {target} did not log in within {} s", limit.as_secs()))
                    .hint("try it by hand with 'ssh -v'; 'timeout' in the roster gives it longer")
            })?
            .map_err(|error| LinkFailure::new(Stage::Login, format!("ssh to {target}: {error}")))?;
        if !output.status.success() {
            let failure = failure::failure(&String::from_utf8_lossy(&output.stderr), &target);
            return Err(failure::through(failure, entry.proxy_jump.as_deref(), &target));
        }
        tracing::debug!(host = %target, ms = ms(began), "the system's ssh logged in");
        Ok(Box::new(OpenSshSession { entry: entry.clone(), socket, directory: Mutex::new(Some(directory)) }))
    }
}

/// A login that a background ssh holds.
struct OpenSshSession {
    entry: RosterEntry,
    socket: PathBuf,
    /// `None` once the login is closed.
    directory: Mutex<Option<TempDir>>,
}

#[async_trait]
impl LoginSession for OpenSshSession {
    async fn exec(&self, command: &str, tty: bool) -> Result<Program, LinkFailure> {
        if !self.socket.exists() {
            return Err(LinkFailure::new(Stage::Link, format!("the login to {} has ended", target(&self.entry))).busy());
        }
        let mut child = Command::new(SSH)
            .args(arguments::command(&self.entry, &self.socket, command, tty))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| no_ssh(&error))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(LinkFailure::new(Stage::Session, "ssh was started without pipes"));
        };
        let child = Arc::new(child);
        Ok(Program {
            stdin: Box::new(stdin),
            stdout: Box::new(ChildPipe { pipe: stdout, _child: child.clone() }),
            stderr: Box::new(ChildPipe { pipe: stderr, _child: child }),
            room: None,
        })
    }

    async fn close(&self) {
        let Some(directory) = self.take_directory() else { return };
        let mut exit = Command::new(SSH);
        exit.args(arguments::exit(&self.entry, &self.socket)).kill_on_drop(true);
        exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // If this fails, the background ssh ends by itself later (`ControlPersist`).
        let _ = timeout(Duration::from_secs(5), exit.status()).await;
        drop(directory);
    }
}

impl OpenSshSession {
    fn take_directory(&self) -> Option<TempDir> {
        self.directory.lock().map_or_else(|poisoned| poisoned.into_inner().take(), |mut directory| directory.take())
    }
}

/// Ends a login that was dropped without `close`, in a thread, since `drop` must not block.
impl Drop for OpenSshSession {
    fn drop(&mut self) {
        let Some(directory) = self.take_directory() else { return };
        let mut exit = std::process::Command::new(SSH);
        exit.args(arguments::exit(&self.entry, &self.socket));
        exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::thread::spawn(move || {
            let _ = exit.status();
            drop(directory);
        });
    }
}

/// A pipe of a child process; the child is killed when all its pipes are dropped.
struct ChildPipe<P> {
    pipe: P,
    _child: Arc<Child>,
}

impl<P: AsyncRead + Unpin> AsyncRead for ChildPipe<P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(cx, buffer)
    }
}

/// ssh reads passwords from a terminal only; there is no safe way to pass one.
fn no_passwords(entry: &RosterEntry) -> Result<(), LinkFailure> {
    let (what, hint) = match entry {
        RosterEntry { password: Some(_), .. } => ("password", "use 'transport: ssh', or log in with a key"),
        RosterEntry { key_password: Some(_), .. } => {
            ("key's password", "use 'transport: ssh', or give the key to ssh-agent")
        }
        _ => return Ok(()),
    };
    Err(LinkFailure::new(Stage::Settings, format!("'transport: openssh' cannot give a {what} to ssh")).hint(hint))
}

/// Creates a private directory for the socket. Its path is short: a socket's path has at most 108 bytes, and ssh
/// appends some.
fn private_directory() -> Result<TempDir, LinkFailure> {
    let uid = rustix::process::getuid().as_raw();
    let runtime = PathBuf::from(format!("/run/user/{uid}"));
    let ours = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0)
    };
    let base = if ours(&runtime) { runtime } else { PathBuf::from("/tmp") };
    tempfile::Builder::new().prefix("rocksalt-").permissions(Permissions::from_mode(0o700)).tempdir_in(&base).map_err(
        |error| {
            LinkFailure::new(
                Stage::Settings,
                format!("cannot create a private directory in {}: {error}", base.display()),
            )
        },
    )
}

fn no_ssh(error: &std::io::Error) -> LinkFailure {
    LinkFailure::new(Stage::Settings, format!("cannot start the program 'ssh': {error}"))
        .hint("install OpenSSH's client, or use 'transport: ssh', which needs none")
}

fn target(entry: &RosterEntry) -> String {
    let user = entry.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let port = entry.port.map(|port| format!(":{port}")).unwrap_or_default();
    match entry.host.contains(':') {
        true => format!("{user}[{}]{port}", entry.host),
        false => format!("{user}{}{port}", entry.host),
    }
}
