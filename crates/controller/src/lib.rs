//! Takes a request to its stored result.
//!
//! The way of a request: [`select`] finds whom it means, [`job`] runs it on them, [`answers`]
//! serves what their functions ask meanwhile. Invariant: nothing here knows SSH or HTTP.

pub mod select;

pub mod execution;
pub mod job_watch;
pub mod jobs;
pub mod spool;
mod state_queue;

pub mod controller_events;
pub mod job_events;
pub mod job_records;
pub mod ledger;
mod reboot;
mod secondary_agent;

pub mod answers;
pub mod peer;
pub mod pillar;
pub mod tree;

pub mod grains_cache;

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_backends::files::FileBackend;
use rocksalt_connect::links::Links;
use rocksalt_core::link::AgentKind;
use rocksalt_core::roster::Roster;
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Call, Map, Return};

/// All that a request needs.
pub struct Controller {
    pub roster: Roster,
    pub nodegroups: Nodegroups,
    pub links: Arc<dyn Links>,
    pub files: Arc<dyn FileBackend>,
    /// What every target is told of the configuration; a target's own options count more.
    pub options: Map,
    pub pillar: pillar::Pillar,
    pub grains_cache: grains_cache::GrainsCache,
    pub peer: peer::Rules,
    /// Where targets may put files with `cp.push`; `None` if they may not.
    pub receive: Option<Receive>,
    /// What an agent must be able to do for a call.
    pub agent_kind: fn(&Call) -> AgentKind,
    /// Functions that need no target: documentation is not sent to targets, and yet asked of them.
    pub own: fn(&Call) -> Option<Return>,
    /// Who asks, for records.
    pub user: String,
}

/// Salt's `file_recv`.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Below it each target has a directory of its own.
    pub directory: PathBuf,
    /// In bytes.
    pub most: u64,
}
