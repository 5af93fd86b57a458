//! [`Answer`]: what comes of a request, one variant a kind of result.

use std::sync::Arc;

use rocksalt_controller::job_watch::JobWatcher;
use rocksalt_controller::ledger::Follower;
use rocksalt_core::record::{EventId, JobRecord, ReturnRecord};
use rocksalt_core::{JobId, Value, json};

pub enum Answer {
    /// The record is stored, and it is under way.
    Started(Box<JobRecord>),
    /// It means no target.
    Nobody,
    Job {
        job: Box<JobRecord>,
        returns: Vec<ReturnRecord>,
    },
    /// Read on from it until it says that the job has ended.
    Watching(Box<JobWatcher>),
    Jobs(Vec<Arc<JobRecord>>),
    /// What a runner or a wheel function did.
    ControllerResult(ControllerResult),
    /// Read on from it as long as you like; only those whose tags fit one of the patterns (all without any).
    Events {
        follower: Box<Follower>,
        tags: Vec<String>,
    },
    /// An event is in the log.
    Logged(EventId),
    Value(Value),
    Done,
}

/// A function of the controller: what Salt calls a runner or a wheel function.
#[derive(Clone, Debug)]
pub struct ControllerResult {
    /// `salt/run/<jid>` or `salt/wheel/<jid>`.
    pub tag: String,
    pub job: JobId,
    /// With its kind before it: `runner.jobs.active`.
    pub function: String,
    pub user: String,
    /// As Salt's events have it.
    pub arguments: Value,
    /// `None`: it goes on in the background, and the event `<tag>/ret` tells the rest.
    pub result: Option<FunctionResult>,
    pub success: bool,
    /// Microseconds since 1970.
    pub stamp: u64,
}

impl ControllerResult {
    /// The result; null while there is none.
    pub fn into_value(self) -> Value {
        self.result.map(FunctionResult::into_value).unwrap_or_default()
    }
}

/// What a function gives: a value, or the JSON text of one that was written before.
#[derive(Clone, Debug)]
pub enum FunctionResult {
    Value(Value),
    Written(Arc<str>),
}

impl FunctionResult {
    pub fn into_value(self) -> Value {
        match self {
            FunctionResult::Value(value) => value,
            // We wrote it ourselves.
            FunctionResult::Written(text) => json::parse(&text).unwrap_or_default(),
        }
    }
}

impl<T: Into<Value>> From<T> for FunctionResult {
    fn from(value: T) -> FunctionResult {
        FunctionResult::Value(value.into())
    }
}
