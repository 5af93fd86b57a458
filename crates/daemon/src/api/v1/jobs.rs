//! Starts, lists, cancels and reruns jobs.

use rocksalt_core::job_options::{Batch, JobOptions};
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{JobFilter, Request, RunRequest};
use rocksalt_core::target::TargetKind;
use rocksalt_core::{Map, Value, json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::reply::ApiReply;
use super::views::{Jid, JobStateView, JobView, ReturnView, micros};
use crate::requests::{Refusal, RefusalKind, RequestResult};

/// A function to run on targets.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Start")]
pub struct StartJob {
    /// As in `test.ping`.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    kwargs: Map,
    /// The target expression.
    #[schemars(length(min = 1, max = 65_536))]
    target: String,
    /// The kind of the target expression, as in Salt: `glob`, `list`, `compound`, `grain` …
    #[serde(default)]
    target_kind: TargetKindName,
    /// Separates the parts of a grain's or pillar's path.
    #[serde(default)]
    #[schemars(length(min = 1, max = 16))]
    delimiter: Option<String>,
    /// Time limit of each target, in seconds.
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
    /// Stop at the first failure.
    #[serde(default)]
    failhard: bool,
    /// Only this many targets, chosen at random.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    subset: Option<usize>,
    /// Wait while another state run is active on the target.
    #[serde(default)]
    queue: bool,
    /// Stream the output of commands to followers of the job.
    #[serde(default)]
    stream: bool,
    /// Arbitrary data to search jobs by.
    #[serde(default)]
    metadata: Value,
    /// A job id chosen by the client. Repeating the request with the same id does not start the job twice.
    #[serde(default)]
    jid: Option<Jid>,
    /// The record, if the body is CBOR.
    #[serde(skip)]
    #[schemars(skip)]
    record: Option<Box<RunRequest>>,
}

/// The kind of a target expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TargetKind")]
pub enum TargetKindName {
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

impl ApiInput for StartJob {
    fn from_cbor(bytes: &[u8]) -> Option<Result<StartJob, String>> {
        let read = minicbor::decode::<RunRequest>(bytes)
            .map_err(|error| format!("the body is not a record of a run: {error}"));
        Some(read.map(|run| StartJob { record: Some(Box::new(run)), ..StartJob::default() }))
    }
}

impl StartJob {
    fn run(self) -> Result<RunRequest, ApiError> {
        if let Some(run) = self.record {
            return Ok(*run);
        }
        let batch = self.batch.map(|text| text.parse::<Batch>()).transpose();
        let options = JobOptions {
            batch: batch.map_err(|error| ApiError::invalid(error.to_string()))?,
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

impl TargetKindName {
    fn name(self) -> &'static str {
        match self {
            TargetKindName::Glob => "glob",
            TargetKindName::Pcre => "pcre",
            TargetKindName::List => "list",
            TargetKindName::Grain => "grain",
            TargetKindName::GrainPcre => "grain_pcre",
            TargetKindName::Pillar => "pillar",
            TargetKindName::PillarPcre => "pillar_pcre",
            TargetKindName::PillarExact => "pillar_exact",
            TargetKindName::Nodegroup => "nodegroup",
            TargetKindName::Range => "range",
            TargetKindName::Compound => "compound",
            TargetKindName::Ipcidr => "ipcidr",
        }
    }
}

/// A job id in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobPath {
    pub jid: Jid,
}

impl ApiInput for JobPath {}

/// Starts a job. Its record is stored when this responds.
pub async fn start(call: ApiCall<Empty, Empty, StartJob>) -> Result<ApiReply<JobView, 202>, ApiError> {
    let ApiCall { api, identity, cbor, body, .. } = call;
    let caller = identity.ok_or_else(ApiError::internal)?.caller;
    let run = body.run()?;
    let again = run.job.map(|_| run.clone());
    let job = match api.requests.answer(&caller, Request::Run(Box::new(run))).await {
        Ok(RequestResult::Started(job)) => *job,
        Ok(RequestResult::Nobody) => {
            return Err(ApiError::no_targets("no target matches").hint("GET /v1/targets lists all targets"));
        }
        Ok(_) => return Err(ApiError::internal()),
        Err(refusal) => match again.filter(|_| refusal.kind == RefusalKind::Taken) {
            Some(run) => {
                let known = run.job.map(Request::ShowJob).ok_or_else(ApiError::internal)?;
                match api.requests.answer(&caller, known).await {
                    Ok(RequestResult::Job { job, .. })
                        if job.belongs_to(&caller.account()) && is_same_job(&job, &run) =>
                    {
                        *job
                    }
                    _ => return Err(refusal.into()),
                }
            }
            None => return Err(refusal.into()),
        },
    };
    Ok(ApiReply::new(JobView::of(&job, true)).or_records(cbor, || job))
}

/// Whether a job is the same as a request: then the request is a repetition.
fn is_same_job(job: &JobRecord, run: &RunRequest) -> bool {
    let (args, kwargs) = rocksalt_catalog::mask(&run.function, &run.args, &run.kwargs);
    job.function == run.function && job.target == run.target && job.args == args && job.kwargs == kwargs
}

/// Selects jobs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobQuery {
    /// Globs; one must match.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 256)))]
    function: Vec<String>,
    /// Globs for target ids, or the target expression as written; one must match.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    target: Vec<String>,
    /// The user who started it.
    #[serde(default)]
    #[schemars(length(max = 256))]
    user: Option<String>,
    /// Seconds since the Unix epoch.
    #[serde(default)]
    #[schemars(range(min = 0, max = 253_402_300_799.0))]
    since: Option<f64>,
    #[serde(default)]
    #[schemars(range(min = 0, max = 253_402_300_799.0))]
    until: Option<f64>,
    /// A JSON object whose fields must be in the job's metadata.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    metadata: Option<String>,
    /// One of these.
    #[serde(default)]
    #[schemars(length(max = 20))]
    state: Vec<JobStateView>,
    /// Only running jobs.
    #[serde(default)]
    running: bool,
    /// The first digits of the id.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{1,20}$"))]
    prefix: Option<String>,
    /// Include the ids of their targets.
    #[serde(default)]
    targets: bool,
    #[serde(default = "super::query::default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Jobs before this one: `next` of the previous page.
    #[serde(default)]
    before: Option<Jid>,
}

impl ApiInput for JobQuery {}

/// A page of jobs, newest first.
#[derive(Serialize, JsonSchema)]
pub struct JobPage {
    jobs: Vec<JobView>,
    /// Pass it as `before` for the next page; `null` on the last page.
    next: Option<Jid>,
}

pub async fn list(call: ApiCall<Empty, JobQuery, Empty>) -> Result<ApiReply<JobPage>, ApiError> {
    let query = &call.query;
    let metadata = match query.metadata.as_deref().map(json::parse) {
        None => Map::new(),
        Some(Ok(Value::Map(map))) => map,
        Some(_) => return Err(ApiError::invalid("'metadata' must be a JSON object, as in {\"ticket\": 7}")),
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
    let RequestResult::Jobs(jobs) = call.answer(Request::ListJobs(filter)).await? else {
        return Err(ApiError::internal());
    };
    let next = jobs.last().filter(|_| jobs.len() == query.limit).map(|job| Jid(job.id));
    let page = JobPage { jobs: jobs.iter().map(|job| JobView::of(job, query.targets)).collect(), next };
    Ok(ApiReply::new(page).or_records(call.cbor, || jobs.iter().map(|job| &**job).collect::<Vec<_>>()))
}

/// Selects returns of a job.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnsQuery {
    #[serde(default = "super::query::default_limit")]
    #[schemars(range(min = 0, max = 10_000))]
    limit: usize,
    /// Targets after this one: `next` of the previous page.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    after: Option<String>,
    /// Only failed returns.
    #[serde(default)]
    failed: bool,
}

impl ApiInput for ReturnsQuery {}

/// A job with a page of its returns, ordered by target.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Details")]
pub struct JobDetails {
    job: JobView,
    succeeded: usize,
    failed: usize,
    /// Targets without a return.
    waiting: usize,
    returns: Vec<ReturnView>,
    /// Pass it as `after` for the next page; `null` on the last page.
    next: Option<String>,
}

pub async fn one(call: ApiCall<JobPath, ReturnsQuery, Empty>) -> Result<ApiReply<JobDetails>, ApiError> {
    let (job, mut returns) = expect_job(call.answer(Request::ShowJob(call.path.jid.0)).await?)?;
    let succeeded = returns.iter().filter(|record| record.outcome.success()).count();
    let failed = returns.len() - succeeded;
    let waiting = job.targets.len().saturating_sub(returns.len());
    let ReturnsQuery { limit, after, failed: only_failed } = call.query;
    returns.retain(|record| after.as_ref().is_none_or(|after| record.target > *after));
    returns.retain(|record| !only_failed || !record.outcome.success());
    returns.sort_by(|a, b| a.target.cmp(&b.target));
    let more = returns.len() > limit;
    returns.truncate(limit);
    let next = if more { returns.last().map(|last| last.target.clone()) } else { None };
    let shapes = returns.iter().map(ReturnView::of).collect();
    let details = JobDetails { job: JobView::of(&job, true), succeeded, failed, waiting, returns: shapes, next };
    Ok(ApiReply::new(details).or_records(call.cbor, || (job, returns)))
}

/// A job and one of its targets in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnPath {
    jid: Jid,
    #[schemars(length(min = 1, max = 1024))]
    target: String,
}

impl ApiInput for ReturnPath {}

pub async fn returned(call: ApiCall<ReturnPath, Empty, Empty>) -> Result<ApiReply<ReturnView>, ApiError> {
    let (_, returns) = expect_job(call.answer(Request::ShowJob(call.path.jid.0)).await?)?;
    match returns.into_iter().find(|record| record.target == call.path.target) {
        Some(record) => Ok(ApiReply::new(ReturnView::of(&record)).or_records(call.cbor, || record)),
        None => Err(ApiError::not_found("the job has no return from this target")),
    }
}

/// Options of cancelling.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Send SIGKILL to its processes at once.
    #[serde(default)]
    kill: bool,
}

impl ApiInput for Cancel {}

pub async fn cancel(call: ApiCall<JobPath, Empty, Cancel>) -> Result<ApiReply<JobView, 202>, ApiError> {
    let job = call.path.jid.0;
    call.answer(Request::CancelJob { job, kill: call.body.kill }).await?;
    let (job, _) = expect_job(call.answer(Request::ShowJob(job)).await?)?;
    Ok(ApiReply::new(JobView::of(&job, true)))
}

/// Options of a rerun.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rerun")]
pub struct RerunJob {
    /// Only targets that failed or did not return.
    #[serde(default)]
    failed: bool,
    /// A job id chosen by the client for the new job.
    #[serde(default)]
    jid: Option<Jid>,
}

impl ApiInput for RerunJob {}

pub async fn rerun(call: ApiCall<JobPath, Empty, RerunJob>) -> Result<ApiReply<JobView, 202>, ApiError> {
    let (job, returns) = expect_job(call.answer(Request::ShowJob(call.path.jid.0)).await?)?;
    let Some(mut run) = job.rerun() else {
        return Err(
            ApiError::invalid("the job had secret arguments, which are not stored").hint("start a new job with them")
        );
    };
    if call.body.failed {
        (run.target, run.target_kind) = (failed_targets(&job, &returns).join(","), TargetKind::List.name().to_owned());
        // The subset was chosen among other targets.
        run.options.subset = None;
    }
    if run.target.is_empty() {
        return Err(ApiError::no_targets("it failed on no target"));
    }
    run.job = call.body.jid.map(|jid| jid.0);
    match call.answer(Request::Run(Box::new(run))).await? {
        RequestResult::Started(job) => Ok(ApiReply::new(JobView::of(&job, true)).or_records(call.cbor, || *job)),
        RequestResult::Nobody => Err(ApiError::no_targets("no target matches any more")),
        _ => Err(ApiError::internal()),
    }
}

fn failed_targets(job: &JobRecord, returns: &[ReturnRecord]) -> Vec<String> {
    let fine = |id: &String| returns.iter().any(|record| record.target == *id && record.outcome.success());
    job.targets.iter().filter(|id| !fine(id)).cloned().collect()
}

fn expect_job(answer: RequestResult) -> Result<(JobRecord, Vec<ReturnRecord>), ApiError> {
    match answer {
        RequestResult::Job { job, returns } => Ok((*job, returns)),
        _ => Err(ApiError::from(Refusal::new(RefusalKind::NotFound, "there is no such job"))),
    }
}
