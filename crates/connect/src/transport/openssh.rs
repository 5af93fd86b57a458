//! The system's `ssh`: for Kerberos, FIDO keys and odd proxies.
//!
//! One login for all commands: an ssh in the background holds it, behind a socket in a folder that
//! only we can enter, and each command is an ssh of its own that goes through that socket.

mod arguments;
mod failure;

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_core::link::{Failure, Key, Stage};
use rocksalt_core::roster::Entry;
use tempfile::TempDir;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{Caller, LocalUser, Program, Session, Transport, plain_key};

const SSH: &str = "ssh";

/// Seconds that a login outlives its last command, if we die and can't end it.
const IDLE: u32 = 600;

pub struct OpenSsh(pub LocalUser);

#[async_trait]
impl Transport for OpenSsh {
    fn key(&self, entry: &Entry) -> Key {
        plain_key(entry, &self.0)
    }

    async fn connect(&self, entry: &Entry, _: &Caller<'_>) -> Result<Box<dyn Session>, Failure> {
        no_passwords(entry)?;
        let folder = private_folder()?;
        let socket = folder.path().join("s");
        let words = arguments::login(entry, &socket, IDLE)?;
        let login = Command::new(SSH)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| no_ssh(&error))?;
        // ssh's own limit is for each connection; hops and the login itself come on top.
        let limit = Duration::from_secs(u64::from(entry.timeout.unwrap_or(arguments::TIMEOUT)) * 2 + 10);
        let target = target(entry);
        let output = timeout(limit, login.wait_with_output())
            .await
            .map_err(|_| {
                Failure::new(Stage::Login, format!("ssh to {target} did not log in within {} s", limit.as_secs()))
                    .hint("try it by hand with 'ssh -v'; 'timeout' in the roster gives it longer")
            })?
            .map_err(|error| Failure::new(Stage::Login, format!("ssh to {target}: {error}")))?;
        if !output.status.success() {
            let failure = failure::failure(&String::from_utf8_lossy(&output.stderr), &target);
            return Err(failure::through(failure, entry.proxy_jump.as_deref(), &target));
        }
        Ok(Box::new(Login { entry: entry.clone(), socket, folder: Mutex::new(Some(folder)) }))
    }
}

/// The ssh in the background went there once the login stood.
struct Login {
    entry: Entry,
    socket: PathBuf,
    /// `None` once it's closed.
    folder: Mutex<Option<TempDir>>,
}

#[async_trait]
impl Session for Login {
    async fn exec(&self, command: &str, tty: bool) -> Result<Program, Failure> {
        if !self.socket.exists() {
            return Err(Failure::new(Stage::Link, format!("the login to {} is gone", target(&self.entry))).busy());
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
            return Err(Failure::new(Stage::Session, "ssh was started without pipes"));
        };
        let child = Arc::new(child);
        Ok(Program {
            stdin: Box::new(stdin),
            stdout: Box::new(Reading { pipe: stdout, _child: child.clone() }),
            stderr: Box::new(Reading { pipe: stderr, _child: child }),
            room: None,
        })
    }

    async fn close(&self) {
        let Some(folder) = self.take_folder() else { return };
        let mut exit = Command::new(SSH);
        exit.args(arguments::exit(&self.entry, &self.socket)).kill_on_drop(true);
        exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // If it doesn't hear us it ends by itself later; there is nobody to tell.
        let _ = timeout(Duration::from_secs(5), exit.status()).await;
        drop(folder);
    }
}

impl Login {
    fn take_folder(&self) -> Option<TempDir> {
        self.folder.lock().map_or_else(|poisoned| poisoned.into_inner().take(), |mut folder| folder.take())
    }
}

/// A login that was forgotten is ended all the same, without making the forgetful wait.
impl Drop for Login {
    fn drop(&mut self) {
        let Some(folder) = self.take_folder() else { return };
        let mut exit = std::process::Command::new(SSH);
        exit.args(arguments::exit(&self.entry, &self.socket));
        exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::thread::spawn(move || {
            let _ = exit.status();
            drop(folder);
        });
    }
}

/// A pipe of a child that is killed when nobody reads its pipes any more.
struct Reading<P> {
    pipe: P,
    _child: Arc<Child>,
}

impl<P: AsyncRead + Unpin> AsyncRead for Reading<P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(cx, buffer)
    }
}

/// ssh asks for passwords at a terminal only, and has no safe way to be given one.
fn no_passwords(entry: &Entry) -> Result<(), Failure> {
    let (what, hint) = match entry {
        Entry { password: Some(_), .. } => ("password", "use 'transport: ssh', or log in with a key"),
        Entry { key_password: Some(_), .. } => ("key's password", "use 'transport: ssh', or give the key to ssh-agent"),
        _ => return Ok(()),
    };
    Err(Failure::new(Stage::Settings, format!("'transport: openssh' cannot give a {what} to ssh")).hint(hint))
}

/// A folder for the socket. Short: a socket's path has at most 108 bytes, and ssh adds some.
fn private_folder() -> Result<TempDir, Failure> {
    let uid = rustix::process::getuid().as_raw();
    let runtime = PathBuf::from(format!("/run/user/{uid}"));
    let ours = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0)
    };
    let base = if ours(&runtime) { runtime } else { PathBuf::from("/tmp") };
    tempfile::Builder::new().prefix("rocksalt-").permissions(Permissions::from_mode(0o700)).tempdir_in(&base).map_err(
        |error| Failure::new(Stage::Settings, format!("cannot make a private folder in {}: {error}", base.display())),
    )
}

fn no_ssh(error: &std::io::Error) -> Failure {
    Failure::new(Stage::Settings, format!("cannot start the program 'ssh': {error}"))
        .hint("install OpenSSH's client, or use 'transport: ssh', which needs none")
}

fn target(entry: &Entry) -> String {
    let user = entry.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let port = entry.port.map(|port| format!(":{port}")).unwrap_or_default();
    match entry.host.contains(':') {
        true => format!("{user}[{}]{port}", entry.host),
        false => format!("{user}{}{port}", entry.host),
    }
}
