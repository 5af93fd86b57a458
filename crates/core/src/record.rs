//! The stored data of a job: its [`JobRecord`] before anything is sent, a [`ReturnRecord`] for each target, and events.

use minicbor::{Decode, Encode};

use crate::call::Return;
use crate::event::Event;
use crate::job_id::JobId;
use crate::job_options::JobOptions;
use crate::link::{LinkFailure, Stage};
use crate::masking;
use crate::request::RunRequest;
use crate::value::{Map, Value};

/// A stored job. The record exists before the first target receives the job.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct JobRecord {
    #[n(0)]
    pub id: JobId,
    /// As the user wrote it; secrets in the arguments are masked.
    #[n(1)]
    pub function: String,
    #[n(2)]
    pub args: Vec<Value>,
    #[n(3)]
    pub kwargs: Map,
    /// The target expression as written, and its kind (`glob`, `compound` …).
    #[n(4)]
    pub target: String,
    #[n(5)]
    pub target_kind: String,
    /// The ids that matched.
    #[n(6)]
    pub targets: Vec<String>,
    /// Ids in the target expression that the roster doesn't have.
    #[n(7)]
    pub missing: Vec<String>,
    #[n(8)]
    pub user: String,
    /// The requester's own data, to find the job.
    #[n(9)]
    pub metadata: Value,
    /// Microseconds since 1970.
    #[n(10)]
    pub started: u64,
    #[n(11)]
    pub state: JobState,
    /// The end in microseconds since 1970, once the job has ended.
    #[n(12)]
    pub ended: Option<u64>,
    /// The controller that runs the job.
    #[n(13)]
    pub owner: String,
    /// How the job processes its targets, for a rerun.
    #[n(14)]
    #[cbor(default)]
    pub options: JobOptions,
    /// The delimiter in paths of grains and pillar in the target expression; `:` if not set.
    #[n(15)]
    pub delimiter: Option<String>,
    /// How the user logged in: `file`, `ldap` …; `local` for commands on the controller's own machine.
    #[n(16)]
    #[cbor(default)]
    pub eauth: String,
}

/// A user of one login method. The same name of another method is somebody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Account {
    #[n(0)]
    pub eauth: String,
    #[n(1)]
    pub user: String,
}

impl Account {
    pub fn new(eauth: impl Into<String>, user: impl Into<String>) -> Account {
        Account { eauth: eauth.into(), user: user.into() }
    }

    /// Whoever runs commands on the controller's own machine.
    pub fn local(user: impl Into<String>) -> Account {
        Account::new("local", user)
    }
}

impl JobRecord {
    /// Who started the job.
    pub fn account(&self) -> Account {
        Account::new(&*self.eauth, &*self.user)
    }

    pub fn belongs_to(&self, account: &Account) -> bool {
        self.user == account.user && self.eauth == account.eauth
    }

    /// The request that runs this job again, with its target expression evaluated anew. `None` if its arguments had
    /// secrets, which no record keeps.
    pub fn rerun(&self) -> Option<RunRequest> {
        if self.args.iter().chain(self.kwargs.values()).any(is_masked) {
            return None;
        }
        Some(RunRequest {
            function: self.function.clone(),
            args: self.args.clone(),
            kwargs: self.kwargs.clone(),
            target: self.target.clone(),
            target_kind: self.target_kind.clone(),
            delimiter: self.delimiter.clone(),
            metadata: self.metadata.clone(),
            options: self.options.clone(),
            ..RunRequest::default()
        })
    }
}

fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(masking::MASK),
        Value::List(items) => items.iter().any(is_masked),
        Value::Map(map) => map.values().any(is_masked),
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum JobState {
    /// Waits for another job on a target.
    #[n(0)]
    Queued,
    #[n(1)]
    Running,
    /// Every target has a return.
    #[n(2)]
    Done,
    /// The job was cancelled.
    #[n(3)]
    Cancelled,
    /// Its controller died, and the results of some targets are lost.
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

/// The outcome of a job on one target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReturnRecord {
    #[n(0)]
    pub target: String,
    #[n(1)]
    pub outcome: TargetOutcome,
    /// Microseconds since 1970.
    #[n(2)]
    pub ended: u64,
    /// Salt's `out`: how to display the result.
    #[n(3)]
    pub outputter: Option<String>,
    /// The original size in bytes, if the return was truncated.
    #[n(4)]
    pub cut_from: Option<u64>,
}

impl ReturnRecord {
    /// Creates a record that isn't stored yet; the time and the other fields are set when it is.
    pub fn new(target: String, outcome: TargetOutcome) -> ReturnRecord {
        ReturnRecord { target, outcome, ended: 0, outputter: None, cut_from: None }
    }
}

/// How the job ended on one target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TargetOutcome {
    #[n(0)]
    Returned(#[n(0)] Return),
    /// The target was not reached, or the link broke.
    #[n(1)]
    Unreached {
        #[n(0)]
        #[cbor(with = "stage_name")]
        stage: Stage,
        #[n(1)]
        text: String,
        #[n(2)]
        hint: Option<String>,
    },
    /// The target was skipped, with the reason.
    #[n(2)]
    Skipped(#[n(0)] String),
    /// The outcome is unknown, with the reason: the controller died, and the target doesn't know the outcome either.
    #[n(3)]
    Lost(#[n(0)] String),
}

impl TargetOutcome {
    pub fn success(&self) -> bool {
        matches!(self, TargetOutcome::Returned(result) if result.success())
    }
}

impl From<LinkFailure> for TargetOutcome {
    fn from(failure: LinkFailure) -> TargetOutcome {
        TargetOutcome::Unreached { stage: failure.stage, text: failure.text, hint: failure.hint }
    }
}

/// A stage is stored by its name.
mod stage_name {
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    use crate::link::Stage;

    pub fn encode<C, W: Write>(stage: &Stage, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(stage.name())?.ok()
    }

    pub fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Stage, Error> {
        let name = d.str()?;
        let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
        stage.ok_or_else(|| Error::message("no stage has this name"))
    }
}

/// The number of an event, which is higher than those of all earlier events.
pub type EventId = u64;

/// A logged event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LoggedEvent {
    #[n(0)]
    pub id: EventId,
    /// Microseconds since 1970.
    #[n(1)]
    pub stamp: u64,
    #[n(2)]
    pub event: Event,
    /// Whose event it is: of a job's events, who started the job. `None` for events of the controller itself.
    #[n(3)]
    pub account: Option<Account>,
}

impl LoggedEvent {
    /// An event that has no id and no time yet.
    pub fn new(event: Event, account: Option<Account>) -> LoggedEvent {
        LoggedEvent { id: 0, stamp: 0, event, account }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_options::Batch;

    fn job() -> JobRecord {
        JobRecord {
            id: JobId::at(0),
            function: "cmd.run".into(),
            args: vec!["uptime".into()],
            kwargs: Map::new(),
            target: "os|Debian".into(),
            target_kind: "grain".into(),
            targets: vec!["a".into()],
            missing: Vec::new(),
            user: "ann".into(),
            metadata: "x".into(),
            started: 1,
            state: JobState::Done,
            ended: Some(2),
            owner: "here".into(),
            options: JobOptions {
                batch: Some(Batch::Percent(12.5)),
                batch_wait: 1.5,
                timeout: Some(30.0),
                queue: true,
                ..JobOptions::default()
            },
            delimiter: Some("|".into()),
            eauth: "file".into(),
        }
    }

    #[test]
    fn a_job_is_started_again_as_it_was() {
        let job = job();
        let stored = minicbor::to_vec(&job).expect("encoded");
        let read: JobRecord = minicbor::decode(&stored).expect("decoded");
        assert_eq!(read, job);
        let request = read.rerun().expect("nothing is masked");
        assert_eq!((request.options, request.delimiter), (job.options.clone(), job.delimiter.clone()));
        assert_eq!((request.target, request.target_kind), (job.target.clone(), job.target_kind.clone()));
        let masked =
            JobRecord { kwargs: Map::from_iter([("x".into(), vec![Value::from(masking::MASK)].into())]), ..job };
        assert!(masked.rerun().is_none());
    }

    /// Earlier versions wrote records without the options, and a failure with the name of its stage.
    #[test]
    fn records_of_earlier_versions_can_be_read() {
        let mut bytes = minicbor::to_vec(job()).expect("encoded");
        // This changes the header of an array from 17 to 14 elements.
        assert_eq!(bytes[0], 0x91);
        bytes[0] = 0x8e;
        let read: JobRecord = minicbor::decode(&bytes).expect("decoded");
        assert_eq!((read.options, read.delimiter, read.eauth), (JobOptions::default(), None, String::new()));
        let outcome: TargetOutcome = LinkFailure::new(Stage::HostKey, "changed").into();
        let stored = minicbor::to_vec(&outcome).expect("encoded");
        assert!(stored.windows(8).any(|part| part == b"host key"));
        assert_eq!(minicbor::decode::<TargetOutcome>(&stored).expect("decoded"), outcome);
    }
}
