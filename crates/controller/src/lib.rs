//! Takes a request to its stored result.
//!
//! [`jobs`] starts every job: [`select`] finds its targets, [`execution`] runs the call on them, [`answers`] serves the
//! requests of their functions, and [`job_records`] is where the job is recorded. Nothing here knows SSH or HTTP.

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
pub mod identity;

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_backends::files::FileBackend;
use rocksalt_connect::links::Links;
use rocksalt_core::link::AgentKind;
use rocksalt_core::roster::Roster;
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Call, Map, Return};

/// What every request needs.
pub struct Controller {
    pub roster: Roster,
    pub nodegroups: Nodegroups,
    pub links: Arc<dyn Links>,
    pub files: Arc<dyn FileBackend>,
    /// Options that are sent to every target; a target's own options take precedence.
    pub options: Map,
    pub pillar: pillar::Pillar,
    pub grains_cache: grains_cache::GrainsCache,
    pub peer: peer::Rules,
    /// Where files that targets send with `cp.push` are stored; `None` refuses them.
    pub receive: Option<Receive>,
    /// Which agent a call needs.
    pub agent_kind: fn(&Call) -> AgentKind,
    /// The result of a function that the controller answers in place of the target: agents have no documentation.
    pub local_answer: fn(&Call) -> Option<Return>,
    /// The user, for records.
    pub user: String,
}

/// Where and how much a target may store: Salt's `file_recv`.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Contains a directory for each target.
    pub directory: PathBuf,
    /// The limit in bytes.
    pub most: u64,
}
