//! Jobs, returns and events in the API's format. Times are seconds since the Unix epoch.

use rocksalt_controller::job_events;
use rocksalt_core::record::{JobRecord, LoggedEvent, ReturnRecord, TargetOutcome};
use rocksalt_core::{JobId, Map, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct JobView {
    pub jid: Jid,
    pub function: String,
    /// Secrets are masked.
    pub args: Vec<Value>,
    pub kwargs: Map,
    /// The target expression.
    pub target: String,
    pub target_kind: String,
    /// The number of targets.
    pub count: usize,
    /// The ids of the targets; in lists only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Unknown ids of the target expression.
    pub missing: Vec<String>,
    pub user: String,
    /// How the user logged in; `local` for commands on the daemon's own machine.
    pub eauth: String,
    /// The metadata of the request.
    pub metadata: Value,
    /// `queued`, `running`, `done`, `cancelled` or `lost`.
    pub state: JobStateView,
    pub started: f64,
    pub ended: Option<f64>,
}

impl JobView {
    pub fn of(job: &JobRecord, targets: bool) -> JobView {
        JobView {
            jid: Jid(job.id),
            function: job.function.clone(),
            args: job.args.clone(),
            kwargs: job.kwargs.clone(),
            target: job.target.clone(),
            target_kind: job.target_kind.clone(),
            count: job.targets.len(),
            targets: targets.then(|| job.targets.clone()),
            missing: job.missing.clone(),
            user: job.user.clone(),
            eauth: job.eauth.clone(),
            metadata: job.metadata.clone(),
            state: JobStateView::from(job.state),
            started: seconds(job.started),
            ended: job.ended.map(seconds),
        }
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JobState")]
pub enum JobStateView {
    Queued,
    Running,
    Done,
    Cancelled,
    Lost,
}

/// The return of one target.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Return")]
pub struct ReturnView {
    pub target: String,
    pub success: bool,
    pub retcode: i64,
    /// The function's result, or why there is none.
    #[serde(rename = "return")]
    pub value: Value,
    pub ended: f64,
    /// Salt's name of the outputter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// The original size, if the result was truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<u64>,
    /// The failure, unless the function itself reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// Why a target has no result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct FailureView {
    /// `failed` (the function failed), `unreached`, `skipped` or `lost`.
    pub kind: &'static str,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The stage of connecting that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

impl ReturnView {
    pub fn of(record: &ReturnRecord) -> ReturnView {
        ReturnView {
            target: record.target.clone(),
            success: record.outcome.success(),
            retcode: job_events::retcode(&record.outcome),
            value: job_events::shown(&record.outcome),
            ended: seconds(record.ended),
            out: record.outputter.clone(),
            cut_from: record.cut_from,
            failure: failure(&record.outcome),
        }
    }
}

fn failure(outcome: &TargetOutcome) -> Option<FailureView> {
    let (kind, text, hint, stage) = match outcome {
        TargetOutcome::Returned(result) => {
            let problem = result.problem.as_ref()?;
            ("failed", problem.text.clone(), problem.hint.clone(), None)
        }
        TargetOutcome::Unreached { stage, text, hint } => {
            ("unreached", text.clone(), hint.clone(), Some(stage.name().to_owned()))
        }
        TargetOutcome::Skipped(why) => ("skipped", why.clone(), None, None),
        TargetOutcome::Lost(why) => ("lost", why.clone(), None, None),
    };
    Some(FailureView { kind, text, hint, stage })
}

/// An event.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventView {
    /// Increases with each event; 0 if the event is not stored.
    pub id: u64,
    pub tag: String,
    pub time: f64,
    pub data: Map,
}

impl EventView {
    pub fn of(logged: &LoggedEvent) -> EventView {
        let event = &logged.event;
        EventView { id: logged.id, tag: event.tag.clone(), time: seconds(logged.stamp), data: event.data.clone() }
    }
}

/// A job id: Salt's twenty digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jid(pub JobId);

impl Serialize for Jid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for Jid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Jid, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Jid).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Jid {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Jid".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9]{20}$", "description": "A job's id: twenty digits"})
    }
}

impl From<rocksalt_core::record::JobState> for JobStateView {
    fn from(state: rocksalt_core::record::JobState) -> JobStateView {
        use rocksalt_core::record::JobState;
        match state {
            JobState::Queued => JobStateView::Queued,
            JobState::Running => JobStateView::Running,
            JobState::Done => JobStateView::Done,
            JobState::Cancelled => JobStateView::Cancelled,
            JobState::Lost => JobStateView::Lost,
        }
    }
}

impl From<JobStateView> for rocksalt_core::record::JobState {
    fn from(state: JobStateView) -> rocksalt_core::record::JobState {
        use rocksalt_core::record::JobState;
        match state {
            JobStateView::Queued => JobState::Queued,
            JobStateView::Running => JobState::Running,
            JobStateView::Done => JobState::Done,
            JobStateView::Cancelled => JobState::Cancelled,
            JobStateView::Lost => JobState::Lost,
        }
    }
}

pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

pub fn micros(seconds: f64) -> u64 {
    // The cast saturates.
    (seconds * 1e6).round() as u64
}
