//! Jobs: started, found, stopped, done again.

use rocksalt_core::job_options::{Batch, JobOptions};
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{JobFilter, Request, RunRequest};
use rocksalt_core::target::Kind as TargetKind;
use rocksalt_core::{Map, Value, json, masking};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;
use super::shapes::{Jid, Job, Return, State, micros};
use crate::requests::{Answer, Kind, Refusal};

/// A function on targets.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// As in `test.ping`.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    kwargs: Map,
    /// Who is meant.
    #[schemars(length(min = 1, max = 65_536))]
    target: String,
    /// How the target is meant, as in Salt: `glob`, `list`, `compound`, `grain` …
    #[serde(default)]
    target_kind: TargetWord,
    /// Between the parts of a grain's or pillar's path.
    #[serde(default)]
    #[schemars(length(min = 1, max = 16))]
    delimiter: Option<String>,
    /// Seconds for each target.
    #[serde(default)]
    #[schemars(range(min = 0, max = 31_536_000))]
    timeout: Option<f64>,
    /// How many targets run at a time: `10`, `25%` or `12.5%`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{1,9}((\.[0-9]{1,6})?%)?$"))]
    batch: Option<String>,
    /// Seconds to wait after each target of a batch.
    #[serde(default)]
    #[schemars(range(min = 0, max = 31_536_000))]
    batch_wait: f64,
    /// No further target after the first failure.
    #[serde(default)]
    failhard: bool,
    /// Only so many of them, taken at random.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    subset: Option<usize>,
    /// Wait in line where a run of states is under way.
    #[serde(default)]
    queue: bool,
    /// Tell those who follow the job what commands print.
    #[serde(default)]
    stream: bool,
    /// Whatever helps to find it again.
    #[serde(default)]
    metadata: Value,
    /// An id of the asker's own: asked again with the same one, the same job is not started twice.
    #[serde(default)]
    jid: Option<Jid>,
    /// What it came as, if not as JSON.
    #[serde(skip)]
    #[schemars(skip)]
    record: Option<Box<RunRequest>>,
}

/// How a target is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TargetKind")]
pub enum TargetWord {
    #[default]
    Glob,
    Pcre,
    List,
    Grain,
    GrainPcre,
    Pillar,
    PillarPcre,
    PillarExact,
    Nodegroup,
    Range,
    Compound,
    Ipcidr,
}

impl Input for Start {
    fn from_cbor(bytes: &[u8]) -> Option<Result<Start, String>> {
        let read =
            minicbor::decode::<RunRequest>(bytes).map_err(|error| format!("the body is no record of a run: {error}"));
        Some(read.map(|run| Start { record: Some(Box::new(run)), ..Start::default() }))
    }
}

impl Start {
    fn run(self) -> Result<RunRequest, Fault> {
        if let Some(run) = self.record {
            return Ok(*run);
        }
        let batch = self.batch.map(|text| text.parse::<Batch>()).transpose();
        let options = JobOptions {
            batch: batch.map_err(|error| Fault::invalid(error.to_string()))?,
            batch_wait: self.batch_wait,
            timeout: self.timeout,
            failhard: self.failhard,
            subset: self.subset,
            queue: self.queue,
            stream: self.stream,
            wipe: false,
        };
        Ok(RunRequest {
            function: self.function,
            args: self.args,
            kwargs: self.kwargs,
            target: self.target,
            target_kind: self.target_kind.name().to_owned(),
            delimiter: self.delimiter,
            options,
            metadata: self.metadata,
            job: self.jid.map(|jid| jid.0),
            returners: Vec::new(),
        })
    }
}

impl TargetWord {
    fn name(self) -> &'static str {
        match self {
            TargetWord::Glob => "glob",
            TargetWord::Pcre => "pcre",
            TargetWord::List => "list",
            TargetWord::Grain => "grain",
            TargetWord::GrainPcre => "grain_pcre",
            TargetWord::Pillar => "pillar",
            TargetWord::PillarPcre => "pillar_pcre",
            TargetWord::PillarExact => "pillar_exact",
            TargetWord::Nodegroup => "nodegroup",
            TargetWord::Range => "range",
            TargetWord::Compound => "compound",
            TargetWord::Ipcidr => "ipcidr",
        }
    }
}

/// A job's id, in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobPath {
    pub jid: Jid,
}

impl Input for JobPath {}

/// The record is stored, and it is under way.
pub async fn start(asked: Asked<Nothing, Nothing, Start>) -> Result<Reply<Job, 202>, Fault> {
    let Asked { api, who, cbor, body, .. } = asked;
    let caller = who.ok_or_else(Fault::internal)?.caller;
    let run = body.run()?;
    let again = run.job.map(|_| run.clone());
    let job = match api.requests.answer(&caller, Request::Run(Box::new(run))).await {
        Ok(Answer::Started(job)) => *job,
        Ok(Answer::Nobody) => return Err(Fault::no_targets("no target fits").hint("GET /v1/targets says who there is")),
        Ok(_) => return Err(Fault::internal()),
        Err(refusal) => match again.filter(|_| refusal.kind == Kind::Taken) {
            Some(run) => {
                let known = run.job.map(Request::ShowJob).ok_or_else(Fault::internal)?;
                match api.requests.answer(&caller, known).await {
                    Ok(Answer::Job { job, .. }) if job.user == caller.user && same(&job, &run) => *job,
                    _ => return Err(refusal.into()),
                }
            }
            None => return Err(refusal.into()),
        },
    };
    Ok(Reply::new(Job::of(&job, true)).or_records(cbor, || job))
}

/// Whether a job is what a run asks for: then it is the same, asked twice.
fn same(job: &JobRecord, run: &RunRequest) -> bool {
    let (args, kwargs) = masking::mask(&run.function, &run.args, &run.kwargs);
    job.function == run.function && job.target == run.target && job.args == args && job.kwargs == kwargs
}

/// Which jobs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Shell patterns; any of them.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 256)))]
    function: Vec<String>,
    /// Shell patterns for ids of targets, or the target as it was written; any of them.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    target: Vec<String>,
    /// Who started it.
    #[serde(default)]
    #[schemars(length(max = 256))]
    user: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    #[schemars(range(min = 0, max = 253_402_300_799.0))]
    since: Option<f64>,
    #[serde(default)]
    #[schemars(range(min = 0, max = 253_402_300_799.0))]
    until: Option<f64>,
    /// A JSON object: each of its fields must be in the job's metadata.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    metadata: Option<String>,
    /// Any of these.
    #[serde(default)]
    #[schemars(length(max = 20))]
    state: Vec<State>,
    /// Only those that still run.
    #[serde(default)]
    running: bool,
    /// The first digits of the id.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{1,20}$"))]
    prefix: Option<String>,
    /// With the ids of their targets.
    #[serde(default)]
    targets: bool,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Those before this one: `next` of the page before.
    #[serde(default)]
    before: Option<Jid>,
}

impl Input for Filter {}

fn hundred() -> usize {
    100
}

/// Some of the jobs, the newest first.
#[derive(Serialize, JsonSchema)]
pub struct JobPage {
    jobs: Vec<Job>,
    /// Give it as `before` for the next page; `null` if this was the last.
    next: Option<Jid>,
}

pub async fn list(asked: Asked<Nothing, Filter, Nothing>) -> Result<Reply<JobPage>, Fault> {
    let query = &asked.query;
    let metadata = match query.metadata.as_deref().map(json::parse) {
        None => Map::new(),
        Some(Ok(Value::Map(map))) => map,
        Some(_) => return Err(Fault::invalid("'metadata' must be a JSON object, as in {\"ticket\": 7}")),
    };
    let filter = JobFilter {
        functions: query.function.clone(),
        targets: query.target.clone(),
        user: query.user.clone(),
        since: query.since.map(micros),
        until: query.until.map(micros),
        metadata,
        running: query.running,
        states: query.state.iter().map(|state| (*state).into()).collect(),
        prefix: query.prefix.clone(),
        limit: Some(query.limit),
        before: query.before.map(|jid| jid.0),
    };
    let Answer::Jobs(jobs) = asked.answer(Request::ListJobs(filter)).await? else { return Err(Fault::internal()) };
    let next = jobs.last().filter(|_| jobs.len() == query.limit).map(|job| Jid(job.id));
    let page = JobPage { jobs: jobs.iter().map(|job| Job::of(job, query.targets)).collect(), next };
    Ok(Reply::new(page).or_records(asked.cbor, || jobs.iter().map(|job| &**job).collect::<Vec<_>>()))
}

/// Which of a job's returns.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Returns {
    #[serde(default = "hundred")]
    #[schemars(range(min = 0, max = 10_000))]
    limit: usize,
    /// Those after this target: `next` of the page before.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    after: Option<String>,
    /// Only those that failed.
    #[serde(default)]
    failed: bool,
}

impl Input for Returns {}

/// A job with some of its returns, by their targets' order.
#[derive(Serialize, JsonSchema)]
pub struct Details {
    job: Job,
    succeeded: usize,
    failed: usize,
    /// Targets without a return.
    waiting: usize,
    returns: Vec<Return>,
    /// Give it as `after` for the next page; `null` if this was the last.
    next: Option<String>,
}

pub async fn one(asked: Asked<JobPath, Returns, Nothing>) -> Result<Reply<Details>, Fault> {
    let (job, mut returns) = shown(asked.answer(Request::ShowJob(asked.path.jid.0)).await?)?;
    let succeeded = returns.iter().filter(|record| record.outcome.success()).count();
    let failed = returns.len() - succeeded;
    let waiting = job.targets.len().saturating_sub(returns.len());
    let Returns { limit, after, failed: only_failed } = asked.query;
    returns.retain(|record| after.as_ref().is_none_or(|after| record.target > *after));
    returns.retain(|record| !only_failed || !record.outcome.success());
    returns.sort_by(|a, b| a.target.cmp(&b.target));
    let more = returns.len() > limit;
    returns.truncate(limit);
    let next = if more { returns.last().map(|last| last.target.clone()) } else { None };
    let shapes = returns.iter().map(Return::of).collect();
    let details = Details { job: Job::of(&job, true), succeeded, failed, waiting, returns: shapes, next };
    Ok(Reply::new(details).or_records(asked.cbor, || (job, returns)))
}

/// A job and one of its targets, in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnPath {
    jid: Jid,
    #[schemars(length(min = 1, max = 1024))]
    target: String,
}

impl Input for ReturnPath {}

pub async fn returned(asked: Asked<ReturnPath, Nothing, Nothing>) -> Result<Reply<Return>, Fault> {
    let (_, returns) = shown(asked.answer(Request::ShowJob(asked.path.jid.0)).await?)?;
    match returns.into_iter().find(|record| record.target == asked.path.target) {
        Some(record) => Ok(Reply::new(Return::of(&record)).or_records(asked.cbor, || record)),
        None => Err(Fault::not_found("the job has no return of this target")),
    }
}

/// How a job is stopped.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Its processes get no time to end by themselves.
    #[serde(default)]
    kill: bool,
}

impl Input for Cancel {}

pub async fn cancel(asked: Asked<JobPath, Nothing, Cancel>) -> Result<Reply<Job, 202>, Fault> {
    let job = asked.path.jid.0;
    asked.answer(Request::CancelJob { job, kill: asked.body.kill }).await?;
    let (job, _) = shown(asked.answer(Request::ShowJob(job)).await?)?;
    Ok(Reply::new(Job::of(&job, true)))
}

/// How a job is done again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rerun {
    /// Only where it failed, or has no return.
    #[serde(default)]
    failed: bool,
    /// An id of the asker's own for the new job.
    #[serde(default)]
    jid: Option<Jid>,
}

impl Input for Rerun {}

pub async fn rerun(asked: Asked<JobPath, Nothing, Rerun>) -> Result<Reply<Job, 202>, Fault> {
    let (job, returns) = shown(asked.answer(Request::ShowJob(asked.path.jid.0)).await?)?;
    let Some(mut run) = job.rerun() else {
        return Err(Fault::invalid("the job had secret arguments, which are not kept").hint("start it anew with them"));
    };
    if asked.body.failed {
        (run.target, run.target_kind) = (failed(&job, &returns).join(","), TargetKind::List.name().to_owned());
        // It was chosen among other targets.
        run.options.subset = None;
    }
    if run.target.is_empty() {
        return Err(Fault::no_targets("it failed nowhere"));
    }
    run.job = asked.body.jid.map(|jid| jid.0);
    match asked.answer(Request::Run(Box::new(run))).await? {
        Answer::Started(job) => Ok(Reply::new(Job::of(&job, true)).or_records(asked.cbor, || *job)),
        Answer::Nobody => Err(Fault::no_targets("no target fits any more")),
        _ => Err(Fault::internal()),
    }
}

fn failed(job: &JobRecord, returns: &[ReturnRecord]) -> Vec<String> {
    let fine = |id: &String| returns.iter().any(|record| record.target == *id && record.outcome.success());
    job.targets.iter().filter(|id| !fine(id)).cloned().collect()
}

fn shown(answer: Answer) -> Result<(JobRecord, Vec<ReturnRecord>), Fault> {
    match answer {
        Answer::Job { job, returns } => Ok((*job, returns)),
        _ => Err(Fault::from(Refusal::new(Kind::NotFound, "there is no such job"))),
    }
}
