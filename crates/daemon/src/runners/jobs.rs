//! `jobs`: jobs and their results.

use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_controller::job_events;
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::request::{JobFilter, Request};
use rocksalt_core::{JobId, Map, Value, json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::times;
use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, list_value,
};
use crate::requests::FunctionResult;

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Active>(),
    entry::<ExitSuccess>(),
    entry::<Kill>(),
    entry::<LastRun>(),
    entry::<ListJob>(),
    entry::<ListJobs>(),
    entry::<ListJobsFilter>(),
    entry::<LookupJid>(),
    entry::<Master>(),
    entry::<PrintJob>(),
];

/// The running jobs, with the targets that still run and those that returned.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct Active {
    /// Ignored.
    #[serde(default)]
    display_progress: bool,
}

impl ControllerFunction for Active {
    const NAME: &'static str = "jobs.active";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let running = JobFilter { running: true, ..JobFilter::default() };
        let mut links = None;
        let mut all = Map::new();
        for job in context.requests.ledger().jobs(&running).await? {
            let returned: Vec<String> =
                context.requests.ledger().returns(job.id).await?.into_iter().map(|record| record.target).collect();
            let links = match &mut links {
                Some(links) => links,
                // The process of a job is the agent of the link.
                none => none.insert(context.loaded.controller.links.list().await.unwrap_or_default()),
            };
            let process = |id: &str| links.iter().find(|info| info.target == id).map(|info| info.agent_pid);
            let working = job.targets.iter().filter(|id| !returned.contains(id));
            let working = working.map(|id| Map::from_iter([(id.as_str().into(), process(id).into())]));
            let mut shown = job_map(&job);
            shown.insert("Running", list_value(working));
            shown.insert("Returned", list_value(returned.clone()));
            all.insert(job.id.as_str(), shown);
        }
        Ok(all.into())
    }
}

/// Cancels a job.
#[derive(Deserialize, JsonSchema)]
pub struct Kill {
    /// The job's id.
    jid: String,
    /// Send SIGKILL instead of SIGTERM.
    #[serde(default)]
    kill: bool,
}

impl ControllerFunction for Kill {
    const NAME: &'static str = "jobs.kill";

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let job: JobId = self.jid.parse().map_err(|error| FunctionFailure::failed(format!("{error}")))?;
        context.requests.answer(&context.caller, Request::CancelJob { job, kill: self.kill }).await?;
        Ok(true.into())
    }
}

/// All stored jobs, or those that match.
#[derive(Deserialize, JsonSchema, Default)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
#[serde(default)]
pub struct ListJobs {
    /// Ignored.
    ext_source: Value,
    /// The outputter; the result is then under `data`.
    outputter: Option<String>,
    /// A map: jobs with one of these in their metadata.
    search_metadata: Map,
    /// Functions: a glob, a list, or several separated by commas.
    search_function: Value,
    /// Targets, in the same format.
    search_target: Value,
    /// Jobs that started at this time or later: `2026, Jan 31 09:30` or `2026-01-31 09:30`, in UTC.
    start_time: Value,
    /// Jobs that started at this time or earlier.
    end_time: Value,
    /// Ignored.
    display_progress: bool,
}

impl ListJobs {
    /// Whether all jobs are listed without an outputter.
    fn is_plain(&self) -> bool {
        let searches = [&self.search_function, &self.search_target, &self.start_time, &self.end_time];
        self.outputter.is_none() && self.search_metadata.is_empty() && searches.iter().all(|search| search.is_null())
    }

    async fn matching(&self, context: &FunctionContext) -> Result<Vec<Arc<JobRecord>>, FunctionFailure> {
        let filter = JobFilter {
            functions: patterns(&self.search_function),
            targets: patterns(&self.search_target),
            since: parse_time("start_time", &self.start_time)?,
            until: parse_time("end_time", &self.end_time)?,
            ..JobFilter::default()
        };
        let mut jobs = context.requests.ledger().jobs(&filter).await?;
        if !self.search_metadata.is_empty() {
            let has = |job: &Arc<JobRecord>| {
                let known = job.metadata.as_map();
                let mut wanted = self.search_metadata.iter();
                wanted.any(|(key, value)| known.and_then(|known| known.get_value(key)) == Some(value))
            };
            jobs.retain(has);
        }
        Ok(jobs)
    }
}

impl ControllerFunction for ListJobs {
    const NAME: &'static str = "jobs.list_jobs";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let jobs = self.matching(&context).await?;
        Ok(with_outputter(self.outputter, list_map(&jobs)))
    }

    async fn call_as_json(self, context: FunctionContext) -> Result<FunctionResult, FunctionFailure> {
        if !self.is_plain() {
            return self.call(context).await.map(FunctionResult::Value);
        }
        // Read the version before the jobs: a change meanwhile makes the text outdated, not wrong.
        let version = context.requests.ledger().jobs_version();
        let list = &context.requests.job_list;
        if let Some(text) = list.get(version) {
            return Ok(FunctionResult::Written(text));
        }
        let text: Arc<str> = json::compact(&list_map(&self.matching(&context).await?).into()).into();
        list.store(version, &text);
        Ok(FunctionResult::Written(text))
    }
}

/// Caches the list of all jobs as JSON until a job changes: web pages request it every few seconds, and it is long.
#[derive(Default)]
pub struct JobListCache(Mutex<Option<(u64, Arc<str>)>>);

impl JobListCache {
    fn get(&self, version: u64) -> Option<Arc<str>> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.as_ref().filter(|(of, _)| *of == version).map(|(_, text)| Arc::clone(text))
    }

    fn store(&self, version: u64, text: &Arc<str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, Arc::clone(text)));
    }
}

/// The newest jobs.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct ListJobsFilter {
    /// The number of jobs.
    count: u32,
    /// Leave out calls of `saltutil.find_job`.
    #[serde(default = "yes")]
    filter_find_job: bool,
    /// Ignored.
    #[serde(default)]
    ext_source: Value,
    /// The outputter; the result is then under `data`.
    #[serde(default)]
    outputter: Option<String>,
    /// Ignored.
    #[serde(default)]
    display_progress: bool,
}

impl ControllerFunction for ListJobsFilter {
    const NAME: &'static str = "jobs.list_jobs_filter";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let mut jobs = context.requests.ledger().jobs(&JobFilter::default()).await?;
        if self.filter_find_job {
            jobs.retain(|job| job.function != "saltutil.find_job");
        }
        jobs.truncate(self.count as usize);
        Ok(with_outputter(self.outputter, list_map(&jobs)))
    }
}

/// A job with its results.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct ListJob {
    /// The job's id.
    jid: String,
    /// Ignored.
    #[serde(default)]
    ext_source: Value,
    /// Ignored.
    #[serde(default)]
    display_progress: bool,
}

impl ControllerFunction for ListJob {
    const NAME: &'static str = "jobs.list_job";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(JobLookup::load(&context, &self.jid).await?.with_jid(&self.jid).into())
    }
}

/// The results of a job, by target.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct LookupJid {
    /// The job's id.
    jid: String,
    /// Ignored.
    #[serde(default)]
    ext_source: Value,
    /// Include targets with a result.
    #[serde(default = "yes")]
    returned: bool,
    /// Include targets without a result.
    #[serde(default)]
    missing: bool,
    /// Ignored.
    #[serde(default)]
    display_progress: bool,
}

impl ControllerFunction for LookupJid {
    const NAME: &'static str = "jobs.lookup_jid";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let found = JobLookup::load(&context, &self.jid).await?;
        let mut results = Map::new();
        let returned = |record: &&ReturnRecord| matches!(record.outcome, TargetOutcome::Returned(_));
        if self.returned {
            for record in found.returns.iter().filter(returned) {
                results.insert(record.target.as_str(), job_events::shown(&record.outcome));
            }
        }
        if self.missing {
            let gone = |id: &&String| !found.returns.iter().filter(returned).any(|record| record.target == **id);
            for id in found.job.iter().flat_map(|job| &job.targets).filter(gone) {
                results.insert(id.as_str(), "Minion did not return");
            }
        }
        let outputter = found.returns.iter().find(returned).and_then(|record| record.outputter.clone());
        Ok(with_outputter(outputter, results))
    }
}

/// A job with its results, under its id.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct PrintJob {
    /// The job's id.
    jid: String,
    /// Ignored.
    #[serde(default)]
    ext_source: Value,
}

impl ControllerFunction for PrintJob {
    const NAME: &'static str = "jobs.print_job";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let found = JobLookup::load(&context, &self.jid).await?;
        Ok(Map::from_iter([(self.jid.as_str().into(), found.details(&self.jid).into())]).into())
    }
}

/// Whether a job's result is not empty, by target.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
pub struct ExitSuccess {
    /// The job's id.
    jid: String,
    /// Ignored.
    #[serde(default)]
    ext_source: Value,
}

impl ControllerFunction for ExitSuccess {
    const NAME: &'static str = "jobs.exit_success";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let found = JobLookup::load(&context, &self.jid).await?;
        let good = |id: &str| {
            let record = found.returns.iter().find(|record| record.target == id);
            record.is_some_and(
                |record| matches!(&record.outcome, TargetOutcome::Returned(result) if result.value.truth()),
            )
        };
        let targets = found.job.iter().flat_map(|job| &job.targets);
        Ok(targets.map(|id| (id.as_str().into(), good(id).into())).collect::<Map>().into())
    }
}

/// The newest job that matches, in the format of `jobs.print_job`.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "accepted for Salt's clients")]
#[serde(default)]
#[derive(Default)]
pub struct LastRun {
    /// Ignored.
    ext_source: Value,
    /// The outputter; the result is then under `data`.
    outputter: Option<String>,
    /// A map: jobs with one of these in their metadata.
    metadata: Map,
    /// Functions: a glob, a list, or several separated by commas.
    function: Value,
    /// Targets, in the same format.
    target: Value,
    /// Ignored.
    display_progress: bool,
}

impl ControllerFunction for LastRun {
    const NAME: &'static str = "jobs.last_run";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let wanted = ListJobs {
            search_metadata: self.metadata,
            search_function: self.function,
            search_target: self.target,
            ..ListJobs::default()
        };
        let Some(job) = wanted.matching(&context).await?.into_iter().next() else { return Ok(false.into()) };
        let id = job.id;
        let found =
            JobLookup { returns: context.requests.ledger().returns(id).await?, job: Some(JobRecord::clone(&job)) };
        let shown = Map::from_iter([(id.as_str().into(), found.details(id.as_str()).into())]);
        Ok(with_outputter(self.outputter, shown))
    }
}

/// Running runner and wheel functions.
#[derive(Deserialize, JsonSchema)]
pub struct Master {}

impl ControllerFunction for Master {
    const NAME: &'static str = "jobs.master";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let running =
            JobFilter { running: true, functions: vec!["runner.*".into(), "wheel.*".into()], ..JobFilter::default() };
        let jobs = context.requests.ledger().jobs(&running).await?;
        Ok(list_value(jobs.iter().map(|job| {
            Map::from_iter([
                ("fun".into(), job.function.as_str().into()),
                ("jid".into(), job.id.as_str().into()),
                ("user".into(), job.user.as_str().into()),
                ("fun_args".into(), job_events::arguments(job)),
                ("pid".into(), std::process::id().into()),
            ])
        })))
    }
}

/// A job and its returns, if it exists.
pub(crate) struct JobLookup {
    job: Option<JobRecord>,
    returns: Vec<ReturnRecord>,
}

impl JobLookup {
    async fn load(context: &FunctionContext, jid: &str) -> Result<JobLookup, FunctionFailure> {
        let ledger = context.requests.ledger();
        // An invalid id is no job's id.
        let Ok(id) = jid.parse::<JobId>() else { return Ok(JobLookup { job: None, returns: Vec::new() }) };
        match ledger.job(id).await? {
            Some(job) => Ok(JobLookup { job: Some(job), returns: ledger.returns(id).await? }),
            None => Ok(JobLookup { job: None, returns: Vec::new() }),
        }
    }

    fn with_jid(&self, jid: &str) -> Map {
        let mut shown = Map::new();
        shown.insert("jid", jid);
        shown.extend(self.details(jid));
        shown
    }

    fn details(&self, jid: &str) -> Map {
        let mut shown = match &self.job {
            Some(job) => {
                let mut shown = job_map(job);
                let start = shown.remove("StartTime");
                shown.insert("Minions", list_value(job.targets.iter().map(String::as_str)));
                shown.insert("StartTime", start.unwrap_or_default());
                shown
            }
            None => {
                let start = jid.parse::<JobId>().map(|id| id.start_time()).unwrap_or_default();
                Map::from_iter([
                    ("Error".into(), "Cannot contact returner or no job with this jid".into()),
                    ("StartTime".into(), start.into()),
                ])
            }
        };
        let results = self.returns.iter().map(|record| (record.target.as_str().into(), result(record).into()));
        shown.insert("Result", results.collect::<Map>());
        shown
    }
}

/// A target's result in the format of `jobs.list_job`.
fn result(record: &ReturnRecord) -> Map {
    let mut shown = Map::with_capacity(4);
    shown.insert("return", job_events::shown(&record.outcome));
    shown.insert("retcode", job_events::retcode(&record.outcome));
    shown.insert("success", record.outcome.success());
    if let Some(outputter) = &record.outputter {
        shown.insert("out", outputter.as_str());
    }
    shown
}

fn list_map(jobs: &[Arc<JobRecord>]) -> Map {
    jobs.iter().map(|job| (job.id.as_str().into(), job_map(job).into())).collect()
}

/// A job in the format of Salt's runners.
fn job_map(job: &JobRecord) -> Map {
    let mut shown = Map::with_capacity(7);
    shown.insert("Function", job.function.as_str());
    shown.insert("Arguments", job_events::arguments(job));
    shown.insert("Target", job.target.as_str());
    shown.insert("Target-type", job.target_kind.as_str());
    shown.insert("User", job.user.as_str());
    if !job.metadata.is_null() {
        shown.insert("Metadata", job.metadata.clone());
    }
    shown.insert("StartTime", job.id.start_time());
    shown
}

fn with_outputter(outputter: Option<String>, data: Map) -> Value {
    match outputter {
        Some(outputter) => {
            Map::from_iter([("outputter".into(), outputter.into()), ("data".into(), data.into())]).into()
        }
        None => data.into(),
    }
}

/// A comma-separated text, or a list.
fn patterns(value: &Value) -> Vec<String> {
    let split = |text: String| -> Vec<String> {
        text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    };
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().flat_map(|item| split(item.to_string())).collect(),
        other => split(other.to_string()),
    }
}

fn parse_time(name: &str, value: &Value) -> Result<Option<u64>, FunctionFailure> {
    if !value.truth() {
        return Ok(None);
    }
    let text = value.to_string();
    let read = times::parse(&text);
    read.map(Some).ok_or_else(|| {
        FunctionFailure::failed(format!(
            "{name}: '{text}' is not a time; use '2026, Jan 31 09:30' or '2026-01-31 09:30:00'"
        ))
    })
}

fn yes() -> bool {
    true
}
