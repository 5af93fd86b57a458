//! The machine that a function works on: [`Probe`] reads, [`System`] also changes it.
//!
//! A dry run only gets a [`Probe`], so it can't write. Both are implemented by [`HostSystem`], the real machine, and by
//! [`Fake`], which tests use.

pub mod accounts;
pub mod bytes;
mod child_guard;

mod command;
mod fake;
mod fake_controller;
mod fake_services;
mod host;
mod launch;
mod log;
mod process;
mod process_stat;
mod reboots;
mod run_notes;
mod service_types;
mod services;
mod signal;
mod temporary;
mod upward;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksalt_core::log::LogLevel;
use rocksalt_core::{JobId, Map};

pub use child_guard::{ChildGuard, GUARD, guard_children};
pub use command::{Command, Output, Pipe, Sink};
pub use fake::Fake;
pub use fake_controller::FakeController;
pub use fake_services::FakeServices;
pub use host::{Base, HostSystem};
pub use launch::{EXEC_AS, exec_as};
pub use log::CallLog;
pub use process_stat::ProcessStat;
pub use reboots::{RebootRequest, Reboots};
pub use run_notes::RunNotes;
pub use service_types::{EntryKind, StateRequest, StateVerb, Template, TreeEntry};
pub use services::{FileTree, Services, StateRunner, TargetPillar, TemplateRenderer};
pub use signal::Signal;
pub use upward::{NoController, Upward};

use crate::Result;

/// Reads from the machine, and cannot change anything.
pub trait Probe: Send + Sync {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Reads at most `length` bytes from `offset`; fewer only at the end.
    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// `None` if the path does not exist. Follows a link if `follow` is set.
    fn stat(&self, path: &Path, follow: bool) -> io::Result<Option<Stat>>;

    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Runs a command that only reads (`getent passwd x`, `systemctl is-active y`).
    fn query(&self, command: &Command) -> Result<Output>;

    /// The value of a variable of the agent's own environment.
    fn env(&self, name: &str) -> Option<String>;

    /// All variables of the agent's environment.
    fn environment(&self) -> Vec<(String, String)>;

    /// The machine's grains, gathered once.
    fn grains(&self) -> Arc<Map>;

    /// The target's configuration (Salt's minion options).
    fn options(&self) -> &Map;

    /// Seconds since 1970, with fractions.
    fn now(&self) -> f64;

    /// True once this call was asked to stop; long loops must check it.
    fn cancelled(&self) -> bool;

    /// Waits. Fails as soon as the call is cancelled.
    fn sleep(&self, seconds: f64) -> Result<()>;

    /// The controller, for requests for files, other targets and events.
    fn controller(&self) -> &dyn Upward;

    /// The controller's files.
    fn tree(&self) -> &dyn FileTree;

    /// This target's pillar. If parts of it did not render, `_errors` lists why, as in Salt.
    fn pillar(&self) -> Result<Arc<Map>>;

    /// Renders templates.
    fn templates(&self) -> &dyn TemplateRenderer;

    /// The notes that the steps of this run leave for each other.
    fn run_notes(&self) -> &RunNotes;

    /// The calls that run on this machine at the moment, including this one.
    fn running(&self) -> Vec<ActiveCall>;

    /// Writes a diagnostic line for the operator (`-vv`). See [`CallLog::write`] for what it must not contain.
    fn log(&self, _: LogLevel, _module: &str, _text: std::fmt::Arguments<'_>) {}
}

/// Also changes the machine. It has about ten primitives; everything else is built on them.
pub trait System: Probe {
    /// Replaces a file as a whole: writes a temporary file beside it and renames it, so that nobody sees a partial
    /// file. Owner and mode of an existing file stay, unless `mode` is given.
    fn write(&self, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()>;

    /// As `write`, with the content from `next`, piece by piece until it returns an empty one.
    fn write_stream(&self, path: &Path, mode: Option<u32>, next: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()>;

    /// Appends to a file in place.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// Removes a file or link, or a directory with its content. Never follows a link.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory, and nothing else.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory; fails if the path exists.
    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()>;

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()>;

    fn hard_link(&self, existing: &Path, link: &Path) -> io::Result<()>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Sets owner and group; `None` leaves one unchanged.
    fn set_owner(&self, path: &Path, uid: Option<u32>, gid: Option<u32>, follow: bool) -> io::Result<()>;

    /// Sets access and modification time, in seconds since 1970. Creates nothing.
    fn set_times(&self, path: &Path, atime: f64, mtime: f64) -> io::Result<()>;

    /// Runs a command.
    fn run(&self, command: &Command) -> Result<Output>;

    /// Sets or removes a variable of the agent's environment, for commands that it runs later.
    fn set_env(&self, name: &str, value: Option<&str>);

    /// Drops the grains, so that the next read gathers them again.
    fn refresh_grains(&self);

    /// Drops the pillar, so that the next read compiles it again.
    fn refresh_pillar(&self);

    /// Compiles and runs states.
    fn states(&self) -> &dyn StateRunner;

    /// Stops another call on this machine; false if no call of that job runs.
    fn stop(&self, job: JobId, how: StopSignal) -> bool;
}

/// How to stop a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Sends SIGTERM to its children.
    Term,
    /// Sends SIGKILL to its children.
    Kill,
}

/// A running call.
#[derive(Clone, Debug)]
pub struct ActiveCall {
    pub job: Option<JobId>,
    pub function: String,
    pub args: Vec<rocksalt_core::Value>,
    /// Seconds since 1970.
    pub since: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    pub kind: FileKind,
    /// Permission bits, without the type.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub atime: f64,
    pub mtime: f64,
    pub ctime: f64,
    pub inode: u64,
    pub device: u64,
    pub links: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Link,
    BlockDevice,
    CharDevice,
    Pipe,
    Socket,
}
