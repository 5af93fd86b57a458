//! What is kept of a job: [`JobRecord`] before anything is sent, a [`ReturnRecord`] for each target, and [`LoggedEvent`] events.

use minicbor::{Decode, Encode};

use crate::call::Return;
use crate::event::Event;
use crate::job_id::JobId;
use crate::value::{Map, Value};

/// A job as it is kept. It is there before the first target hears of it (decision D12).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct JobRecord {
    #[n(0)]
    pub id: JobId,
    /// As users write it, with what is theirs to see: secrets never get here.
    #[n(1)]
    pub function: String,
    #[n(2)]
    pub args: Vec<Value>,
    #[n(3)]
    pub kwargs: Map,
    /// The target as it was written, and how it was meant (`glob`, `compound` …).
    #[n(4)]
    pub target: String,
    #[n(5)]
    pub target_kind: String,
    /// The ids that it meant.
    #[n(6)]
    pub targets: Vec<String>,
    /// Ids that were named and are not known.
    #[n(7)]
    pub missing: Vec<String>,
    #[n(8)]
    pub user: String,
    /// What the asker gave along, to find it again.
    #[n(9)]
    pub metadata: Value,
    /// Microseconds since 1970.
    #[n(10)]
    pub started: u64,
    #[n(11)]
    pub state: JobState,
    /// Microseconds since 1970, once it has ended.
    #[n(12)]
    pub ended: Option<u64>,
    /// The controller that runs it.
    #[n(13)]
    pub owner: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum JobState {
    /// Waits for another job on one of its targets.
    #[n(0)]
    Queued,
    #[n(1)]
    Running,
    /// Every target has a return.
    #[n(2)]
    Done,
    /// Somebody stopped it.
    #[n(3)]
    Cancelled,
    /// Its controller died, and some targets' results can't be had any more.
    #[n(4)]
    Lost,
}

impl JobState {
    pub fn ended(self) -> bool {
        !matches!(self, JobState::Queued | JobState::Running)
    }

    pub fn name(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
            JobState::Lost => "lost",
        }
    }
}

/// One target's share of a job, once it is known.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReturnRecord {
    #[n(0)]
    pub target: String,
    #[n(1)]
    pub outcome: TargetOutcome,
    /// Microseconds since 1970.
    #[n(2)]
    pub ended: u64,
    /// Salt's `out`: how to show it.
    #[n(3)]
    pub outputter: Option<String>,
    /// How large it was, if it was too large to be kept whole.
    #[n(4)]
    pub cut_from: Option<u64>,
}

/// How it ended on one target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TargetOutcome {
    #[n(0)]
    Returned(#[n(0)] Return),
    /// It was not reached, or the link broke: the stage, the text, the way out.
    #[n(1)]
    Unreached {
        #[n(0)]
        stage: String,
        #[n(1)]
        text: String,
        #[n(2)]
        hint: Option<String>,
    },
    /// Not even tried, and why.
    #[n(2)]
    Skipped(#[n(0)] String),
    /// Nobody knows how it ended, and why: the controller died, and the target can't tell.
    #[n(3)]
    Lost(#[n(0)] String),
}

impl TargetOutcome {
    pub fn success(&self) -> bool {
        matches!(self, TargetOutcome::Returned(result) if result.success())
    }
}

/// Counts events. Each has a higher one than all before it.
pub type EventId = u64;

/// An event in the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LoggedEvent {
    #[n(0)]
    pub id: EventId,
    /// Microseconds since 1970.
    #[n(1)]
    pub stamp: u64,
    #[n(2)]
    pub event: Event,
}
