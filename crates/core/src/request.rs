//! [`Request`]: the closed list of requests to a controller, and the right that each needs
//! (docs/security-rules.md#r1, docs/security-rules.md#r2).
//!
//! The command line and the HTTP APIs all use it. A new variant does not compile before [`Request::needs`] names its
//! right; a test sends every variant of [`Request::examples`] without the right.

use minicbor::{Decode, Encode};

use crate::call::Call;
use crate::event::Event;
use crate::job_id::JobId;
use crate::job_options::JobOptions;
use crate::record::{EventId, JobState};
use crate::value::{Map, Value};

/// A request to a controller.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A function on targets.
    Run(Box<RunRequest>),
    /// A function of the controller about its targets and jobs (Salt's runners).
    Runner(ControllerCall),
    /// A function of the controller about itself (Salt's wheel functions).
    Wheel(ControllerCall),
    /// A job with its returns.
    ShowJob(JobId),
    /// The updates of a job as it runs.
    WatchJob(JobId),
    /// Jobs that match the filter, the newest first.
    ListJobs(JobFilter),
    /// Cancel a job; its processes get SIGKILL at once if `kill`.
    CancelJob { job: JobId, kill: bool },
    /// The events after an id (only new ones without it) whose tags match one of the patterns (all without any).
    Events { after: Option<EventId>, tags: Vec<String> },
    /// Add an event to the log, under a tag that is not Salt's own.
    Fire(Event),
    /// An event from a web hook.
    Hook { path: String, data: Map },
    /// The targets, with what is known of them and the caller may see.
    Targets,
    /// Statistics of the daemon.
    Stats,
    /// Why a user may or may not do something.
    Explain { user: String, function: String, target: String },
    /// Read the configuration and the roster again.
    Reload,
}

/// A function on targets.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct RunRequest {
    #[n(0)]
    pub function: String,
    #[n(1)]
    pub args: Vec<Value>,
    #[n(2)]
    pub kwargs: Map,
    #[n(3)]
    pub target: String,
    /// `glob`, `compound` … as Salt names them.
    #[n(4)]
    pub target_kind: String,
    #[n(5)]
    pub delimiter: Option<String>,
    #[n(6)]
    pub options: JobOptions,
    #[n(7)]
    pub metadata: Value,
    /// The job's id, if the requester has chosen it.
    #[n(8)]
    pub job: Option<JobId>,
    #[n(9)]
    pub returners: Vec<String>,
}

impl RunRequest {
    /// A request for this call; the targets and the rest are still to be filled in.
    pub fn of(call: &Call) -> RunRequest {
        RunRequest {
            function: call.function.clone(),
            args: call.args.clone(),
            kwargs: call.kwargs.clone(),
            ..RunRequest::default()
        }
    }

    /// The function and its arguments.
    pub fn call(&self) -> Call {
        Call { args: self.args.clone(), kwargs: self.kwargs.clone(), ..Call::new(self.function.as_str()) }
    }
}

/// A function of the controller itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControllerCall {
    pub function: String,
    pub args: Vec<Value>,
    pub kwargs: Map,
    /// Answer at once; the result comes as an event (Salt's `runner_async` and `wheel_async`).
    pub background: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFilter {
    /// Globs; any of them.
    pub functions: Vec<String>,
    pub targets: Vec<String>,
    pub user: Option<String>,
    /// Microseconds since 1970.
    pub since: Option<u64>,
    pub until: Option<u64>,
    /// Each of these must be in the job's metadata.
    pub metadata: Map,
    /// Only those that still run.
    pub running: bool,
    /// Any of these; all without any.
    pub states: Vec<JobState>,
    /// The first digits of the id.
    pub prefix: Option<String>,
    pub limit: Option<usize>,
    /// Only those before this one: for pages.
    pub before: Option<JobId>,
}

/// The right that a request needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Needs<'a> {
    /// Any user who is logged in.
    Login,
    /// A function on targets: by the rules of `external_auth`.
    Function(&'a RunRequest),
    /// `@runner` and the like.
    Runner(&'a ControllerCall),
    /// `@wheel` and the like.
    Wheel(&'a ControllerCall),
    /// The user who started the job, or one with `@runner` for this function.
    Job { job: JobId, or_runner: &'static str },
    /// A user with `@runner` for this function.
    RunnerNamed(&'static str),
    /// A user with `@wheel` for this function.
    WheelNamed(&'static str),
}

impl Request {
    pub fn needs(&self) -> Needs<'_> {
        match self {
            Request::Run(run) => Needs::Function(run),
            Request::Runner(local) => Needs::Runner(local),
            Request::Wheel(local) => Needs::Wheel(local),
            Request::ShowJob(job) | Request::WatchJob(job) => Needs::Job { job: *job, or_runner: "jobs.list_job" },
            Request::ListJobs(_) => Needs::RunnerNamed("jobs.list_jobs"),
            Request::CancelJob { job, .. } => Needs::Job { job: *job, or_runner: "jobs.kill" },
            // Salt's own rule: any valid token sees every event. Secrets are never in them.
            Request::Events { .. } => Needs::Login,
            Request::Fire(_) => Needs::RunnerNamed("event.send"),
            Request::Hook { .. } => Needs::Login,
            Request::Targets => Needs::Login,
            Request::Stats => Needs::Login,
            Request::Explain { .. } => Needs::WheelNamed("access.explain"),
            Request::Reload => Needs::WheelNamed("config.reload"),
        }
    }

    /// One request of each variant, for tests.
    pub fn examples() -> Vec<Request> {
        let local = |function: &str| ControllerCall { function: function.into(), ..ControllerCall::default() };
        let job = JobId::at(0);
        let all = vec![
            Request::Run(Box::new(RunRequest {
                function: "test.ping".into(),
                target: "*".into(),
                ..RunRequest::default()
            })),
            Request::Runner(local("jobs.list_jobs")),
            Request::Wheel(local("key.list_all")),
            Request::ShowJob(job),
            Request::WatchJob(job),
            Request::ListJobs(JobFilter::default()),
            Request::CancelJob { job, kill: false },
            Request::Events { after: None, tags: Vec::new() },
            Request::Fire(Event { tag: "my/event".into(), data: Map::new() }),
            Request::Hook { path: "a/b".into(), data: Map::new() },
            Request::Targets,
            Request::Stats,
            Request::Explain { user: "x".into(), function: "test.ping".into(), target: "*".into() },
            Request::Reload,
        ];
        // This does not compile before a new variant is added here, and then above.
        for request in &all {
            match request {
                Request::Run(_)
                | Request::Runner(_)
                | Request::Wheel(_)
                | Request::ShowJob(_)
                | Request::WatchJob(_)
                | Request::ListJobs(_)
                | Request::CancelJob { .. }
                | Request::Events { .. }
                | Request::Fire(_)
                | Request::Hook { .. }
                | Request::Targets
                | Request::Stats
                | Request::Explain { .. }
                | Request::Reload => {}
            }
        }
        all
    }
}
