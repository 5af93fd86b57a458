//! [`RequestResult`]: the result of a request, a variant for each kind.

use std::sync::Arc;

use rocksalt_controller::job_watch::JobWatcher;
use rocksalt_controller::ledger::Follower;
use rocksalt_core::record::{EventId, JobRecord, ReturnRecord};
use rocksalt_core::{JobId, Value, json};

use super::StandingRight;

pub enum RequestResult {
    /// The job is recorded, and runs.
    Started(Box<JobRecord>),
    /// No target was selected.
    Nobody,
    Job {
        job: Box<JobRecord>,
        returns: Vec<ReturnRecord>,
    },
    /// Yields the updates until the job has ended.
    Watching(Box<JobWatcher>),
    Jobs(Vec<Arc<JobRecord>>),
    /// The result of a runner or wheel function.
    ControllerResult(ControllerResult),
    /// Yields events without end; only those whose tags match one of the patterns (all without any).
    Events {
        follower: Box<Follower>,
        tags: Vec<String>,
        right: Box<StandingRight>,
    },
    /// An event was added to the log.
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
    /// The name with its kind: `runner.jobs.active`.
    pub function: String,
    pub user: String,
    /// In the form of Salt's events.
    pub arguments: Value,
    /// `None` if it runs in the background: then the event `<tag>/ret` has the result.
    pub result: Option<FunctionResult>,
    pub success: bool,
    /// Microseconds since 1970.
    pub stamp: u64,
}

impl ControllerResult {
    /// The result; null if there is none yet.
    pub fn into_value(self) -> Value {
        self.result.map(FunctionResult::into_value).unwrap_or_default()
    }
}

/// A function's result: a value, or JSON text that was serialized earlier.
#[derive(Clone, Debug)]
pub enum FunctionResult {
    Value(Value),
    Written(Arc<str>),
}

impl FunctionResult {
    pub fn into_value(self) -> Value {
        match self {
            FunctionResult::Value(value) => value,
            // Our own serialization, so it parses.
            FunctionResult::Written(text) => json::parse(&text).unwrap_or_default(),
        }
    }
}

impl<T: Into<Value>> From<T> for FunctionResult {
    fn from(value: T) -> FunctionResult {
        FunctionResult::Value(value.into())
    }
}
