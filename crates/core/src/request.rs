//! [`Request`]: the closed list of requests to a controller, and the right that each needs
//! (docs/security-rules.md#r1, docs/security-rules.md#r2).
//! The command line and the HTTP APIs both use it. A new variant doesn't compile until [`Request::needs`] names its
//! right, and a test sends every variant of [`Request::examples`] without the right.
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
    /// Runs a function on targets.
    Run(Box<RunRequest>),
    /// Runs a function of the controller about its targets and jobs (one of Salt's runners).
    Runner(ControllerCall),
    /// Runs a function of the controller about itself (one of Salt's wheel functions).
    Wheel(ControllerCall),
    /// Returns a job with its returns.
    ShowJob(JobId),
    /// Streams the updates of a job.
    WatchJob(JobId),
    /// Lists jobs that match the filter, the newest first.
    ListJobs(JobFilter),
    /// Cancels a job; with `kill`, its processes get SIGKILL at once.
    CancelJob { job: JobId, kill: bool },
    /// Streams events after an id (without it, only new ones) whose tags match any of the patterns (without any, all).
    Events { after: Option<EventId>, tags: Vec<String> },
    /// Adds an event to the log, under a tag that isn't Salt's.
    Fire(Event),
    /// Delivers an event from a web hook.
    Hook { path: String, data: Map },
    /// Lists the targets with their known data, as far as the caller may see it.
    Targets,
    /// Returns statistics of the daemon.
    Stats,
    /// Explains why a user may or may not do something.
    Explain { user: String, function: String, target: String },
    /// Reloads the configuration and the roster.
    Reload,
}

/// A request to run a function on targets.
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
    /// The kind of target expression, as Salt names it: `glob`, `compound` …
    #[n(4)]
    pub target_kind: String,
    #[n(5)]
    pub delimiter: Option<String>,
    #[n(6)]
    pub options: JobOptions,
    #[n(7)]
    pub metadata: Value,
    /// The job's id, if the requester chose it.
    #[n(8)]
    pub job: Option<JobId>,
    #[n(9)]
    pub returners: Vec<String>,
}

impl RunRequest {
    /// Creates a request for this call; the targets and the rest must be filled in.
    pub fn of(call: &Call) -> RunRequest {
        RunRequest {
            function: call.function.clone(),
            args: call.args.clone(),
            kwargs: call.kwargs.clone(),
            ..RunRequest::default()
        }
    }

    /// The call: the function and its arguments.
    pub fn call(&self) -> Call {
        Call { args: self.args.clone(), kwargs: self.kwargs.clone(), ..Call::new(self.function.as_str()) }
    }
}

/// A call of one of the controller's functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControllerCall {
    pub function: String,
    pub args: Vec<Value>,
    pub kwargs: Map,
    /// Answer at once; the result is sent as an event (Salt's `runner_async` and `wheel_async`).
    pub background: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFilter {
    /// Globs, any of which must match.
    pub functions: Vec<String>,
    pub targets: Vec<String>,
    pub user: Option<String>,
    /// Microseconds since 1970.
    pub since: Option<u64>,
    pub until: Option<u64>,
    /// Entries that the job's metadata must all have.
    pub metadata: Map,
    /// Only jobs that still run.
    pub running: bool,
    /// Any of these states; all states if empty.
    pub states: Vec<JobState>,
    /// The first digits of the id.
    pub prefix: Option<String>,
    pub limit: Option<usize>,
    /// Only jobs before this one, for paging.
    pub before: Option<JobId>,
}

/// The right that a request needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Needs<'a> {
    /// Any logged-in user.
    Login,
    /// Any logged-in user; who has neither `@events` nor `@jobs` gets only events of their own.
    Events,
    /// A function on targets, by the rules of `external_auth`.
    Function(&'a RunRequest),
    /// A rule such as `@runner`.
    Runner(&'a ControllerCall),
    /// A rule such as `@wheel`.
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
            Request::Events { .. } => Needs::Events,
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
        // A new variant doesn't compile until it is added here, and then above.
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
