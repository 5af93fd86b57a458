//! The local transport: the agent is a child process on this machine.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Stdio;

use async_trait::async_trait;
use rocksalt_core::link::{LinkFailure, LinkKey, Stage};
use rocksalt_core::roster::RosterEntry;
use tokio::process::Command;

use super::{LoginContext, LoginSession, Program, Transport, key_from_entry};
use crate::LocalUser;
use crate::agents::{Agent, stored_agent};

/// Starts agents on this machine, without a login.
pub struct LocalTransport(pub LocalUser);

#[async_trait]
impl Transport for LocalTransport {
    fn key(&self, entry: &RosterEntry) -> LinkKey {
        LinkKey { user: self.0.name.clone(), port: 0, ..key_from_entry(entry, &self.0) }
    }

    async fn connect(&self, _: &RosterEntry, _: &LoginContext<'_>) -> Result<Box<dyn LoginSession>, LinkFailure> {
        Ok(Box::new(LocalSession { home: self.0.home.clone() }))
    }
}

struct LocalSession {
    home: PathBuf,
}

/// The largest pipe that an unprivileged user may have by default.
const PIPE: usize = 1024 * 1024;

#[async_trait]
impl LoginSession for LocalSession {
    async fn exec(&self, command: &str, _: bool) -> Result<Program, LinkFailure> {
        child(Command::new("/bin/sh").arg("-c").arg(command), "/bin/sh")
    }

    fn machine(&self) -> Option<&'static str> {
        Some(std::env::consts::ARCH)
    }

    async fn start_directly(&self, agent: &Agent) -> Option<Program> {
        let start = |file: &dyn AsFd| {
            let program = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
            child(Command::new(program).arg0("rocksalt-agent").arg("agent"), "the agent").ok()
        };
        let stored = stored_agent::open(&self.home, agent).ok().and_then(|file| start(&file));
        // Used if the user has no directory, or if programs can't be started from it.
        stored.or_else(|| start(agent.in_memory()?))
    }

    fn near(&self) -> bool {
        true
    }

    async fn close(&self) {}
}

fn child(command: &mut Command, name: &str) -> Result<Program, LinkFailure> {
    let started = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is only for the controller, which cancels the calls of its agents itself.
        .process_group(0)
        .kill_on_drop(false)
        .spawn();
    let failure = |text: String| LinkFailure::new(Stage::Session, text);
    let mut child = started.map_err(|error| failure(format!("can't start {name}: {error}")))?;
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failure("the child has no pipes".into()));
    };
    // With a larger pipe a large result fits without waiting. If the kernel refuses the size, the default works too.
    let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE);
    tokio::spawn(async move { child.wait().await });
    Ok(Program { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr: Box::new(stderr), room: None })
}
