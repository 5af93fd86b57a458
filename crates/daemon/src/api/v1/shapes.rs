//! Jobs, returns and events as the API shows them. Times are seconds since 1970.

use rocksalt_controller::job_events;
use rocksalt_core::record::{JobRecord, LoggedEvent, ReturnRecord, TargetOutcome};
use rocksalt_core::{JobId, Map, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A function on targets, once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Job {
    pub jid: Jid,
    pub function: String,
    /// Secret ones are not shown.
    pub args: Vec<Value>,
    pub kwargs: Map,
    /// As it was written.
    pub target: String,
    pub target_kind: String,
    /// How many targets it means.
    pub count: usize,
    /// Their ids; left out in lists unless they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Ids that were named and are not known.
    pub missing: Vec<String>,
    pub user: String,
    /// What was given along to find it again.
    pub metadata: Value,
    /// `queued`, `running`, `done`, `cancelled` or `lost`.
    pub state: State,
    pub started: f64,
    pub ended: Option<f64>,
}

impl Job {
    pub fn of(job: &JobRecord, targets: bool) -> Job {
        Job {
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
            metadata: job.metadata.clone(),
            state: State::from(job.state),
            started: seconds(job.started),
            ended: job.ended.map(seconds),
        }
    }
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JobState")]
pub enum State {
    Queued,
    Running,
    Done,
    Cancelled,
    Lost,
}

/// What one target returned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Return {
    pub target: String,
    pub success: bool,
    pub retcode: i64,
    /// What the function gave; of a target without a result, why.
    #[serde(rename = "return")]
    pub value: Value,
    pub ended: f64,
    /// How it is best shown, as Salt names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// How large it was, if it was too large to be kept whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<u64>,
    /// What went wrong, unless it is just what the function says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Why a target has no proper result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// `failed` (the function could not do its work), `unreached`, `skipped` or `lost`.
    pub kind: &'static str,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How far one got on the way to the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

impl Return {
    pub fn of(record: &ReturnRecord) -> Return {
        Return {
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

fn failure(outcome: &TargetOutcome) -> Option<Failure> {
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
    Some(Failure { kind, text, hint, stage })
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Event {
    /// Each has a higher one than all before it; 0 if it is not kept.
    pub id: u64,
    pub tag: String,
    pub time: f64,
    pub data: Map,
}

impl Event {
    pub fn of(logged: &LoggedEvent) -> Event {
        let event = &logged.event;
        Event { id: logged.id, tag: event.tag.clone(), time: seconds(logged.stamp), data: event.data.clone() }
    }
}

/// A job's id: Salt's twenty digits.
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

impl From<rocksalt_core::record::JobState> for State {
    fn from(state: rocksalt_core::record::JobState) -> State {
        use rocksalt_core::record::JobState;
        match state {
            JobState::Queued => State::Queued,
            JobState::Running => State::Running,
            JobState::Done => State::Done,
            JobState::Cancelled => State::Cancelled,
            JobState::Lost => State::Lost,
        }
    }
}

impl From<State> for rocksalt_core::record::JobState {
    fn from(state: State) -> rocksalt_core::record::JobState {
        use rocksalt_core::record::JobState;
        match state {
            State::Queued => JobState::Queued,
            State::Running => JobState::Running,
            State::Done => JobState::Done,
            State::Cancelled => JobState::Cancelled,
            State::Lost => JobState::Lost,
        }
    }
}

pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

pub fn micros(seconds: f64) -> u64 {
    // Below zero and beyond all times it ends at the ends.
    (seconds * 1e6).round() as u64
}
