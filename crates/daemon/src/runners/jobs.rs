//! `jobs`: what was run, what came of it, and what still runs.

use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_controller::job_events;
use rocksalt_core::record::{JobRecord, ReturnRecord, TargetOutcome};
use rocksalt_core::request::{JobFilter, Request};
use rocksalt_core::{JobId, Map, Value, json};
use schemars::JsonSchema;
use serde::Deserialize;

use super::times;
use crate::functions::{Context, Entry, Failure, Function, Mark, entry, texts};
use crate::requests::FunctionResult;

pub const FUNCTIONS: &[Entry] = &[
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

/// The jobs that run now, with who works on them and who is done.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give it")]
pub struct Active {
    /// Has no meaning here.
    #[serde(default)]
    display_progress: bool,
}

impl Function for Active {
    const NAME: &'static str = "jobs.active";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let running = JobFilter { running: true, ..JobFilter::default() };
        let mut links = None;
        let mut all = Map::new();
        for job in context.requests.ledger().jobs(&running).await? {
            let returned: Vec<String> =
                context.requests.ledger().returns(job.id).await?.into_iter().map(|record| record.target).collect();
            let links = match &mut links {
                Some(links) => links,
                // The process that works on it is the agent of the link.
                none => none.insert(context.loaded.controller.links.list().await.unwrap_or_default()),
            };
            let process = |id: &str| links.iter().find(|info| info.target == id).map(|info| info.agent_pid);
            let working = job.targets.iter().filter(|id| !returned.contains(id));
            let working = working.map(|id| Map::from_iter([(id.as_str().into(), process(id).into())]));
            let mut shown = described(&job);
            shown.insert("Running", texts(working));
            shown.insert("Returned", texts(returned.clone()));
            all.insert(job.id.as_str(), shown);
        }
        Ok(all.into())
    }
}

/// Stops a job: what runs on its targets is ended.
#[derive(Deserialize, JsonSchema)]
pub struct Kill {
    /// The job's id.
    jid: String,
    /// End it at once (SIGKILL) instead of asking it to end.
    #[serde(default)]
    kill: bool,
}

impl Function for Kill {
    const NAME: &'static str = "jobs.kill";

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let job: JobId = self.jid.parse().map_err(|error| Failure::said(format!("{error}")))?;
        context.requests.answer(&context.caller, Request::CancelJob { job, kill: self.kill }).await?;
        Ok(true.into())
    }
}

/// All jobs that are remembered, or those that fit.
#[derive(Deserialize, JsonSchema, Default)]
#[allow(dead_code, reason = "Salt's clients may give them")]
#[serde(default)]
pub struct ListJobs {
    /// Has no meaning here.
    ext_source: Value,
    /// How the result is to be shown; it is then put under `data`.
    outputter: Option<String>,
    /// A map: jobs of whose metadata any of these is part.
    search_metadata: Map,
    /// Functions: a pattern, a list of them, or several with commas between.
    search_function: Value,
    /// Targets, in the same way.
    search_target: Value,
    /// Those that started at this time or later: `2026, Jan 31 09:30` or `2026-01-31 09:30`, in UTC.
    start_time: Value,
    /// Those that started at this time or earlier.
    end_time: Value,
    /// Has no meaning here.
    display_progress: bool,
}

impl ListJobs {
    /// All of them, as they are.
    fn is_plain(&self) -> bool {
        let searches = [&self.search_function, &self.search_target, &self.start_time, &self.end_time];
        self.outputter.is_none() && self.search_metadata.is_empty() && searches.iter().all(|search| search.is_null())
    }

    async fn found(&self, context: &Context) -> Result<Vec<Arc<JobRecord>>, Failure> {
        let filter = JobFilter {
            functions: patterns(&self.search_function),
            targets: patterns(&self.search_target),
            since: moment("start_time", &self.start_time)?,
            until: moment("end_time", &self.end_time)?,
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

impl Function for ListJobs {
    const NAME: &'static str = "jobs.list_jobs";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let jobs = self.found(&context).await?;
        Ok(with_outputter(self.outputter, listed(&jobs)))
    }

    async fn give(self, context: Context) -> Result<FunctionResult, Failure> {
        if !self.is_plain() {
            return self.call(context).await.map(FunctionResult::Value);
        }
        // Before the jobs: what comes meanwhile makes it old at once, and not wrong for long.
        let version = context.requests.ledger().jobs_version();
        let list = &context.requests.job_list;
        if let Some(text) = list.get(version) {
            return Ok(FunctionResult::Written(text));
        }
        let text: Arc<str> = json::compact(&listed(&self.found(&context).await?).into()).into();
        list.keep(version, &text);
        Ok(FunctionResult::Written(text))
    }
}

/// The list of all jobs as JSON, as long as no job changes: pages ask for it every few seconds, and it is long.
#[derive(Default)]
pub struct JobList(Mutex<Option<(u64, Arc<str>)>>);

impl JobList {
    fn get(&self, version: u64) -> Option<Arc<str>> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.as_ref().filter(|(of, _)| *of == version).map(|(_, text)| Arc::clone(text))
    }

    fn keep(&self, version: u64, text: &Arc<str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, Arc::clone(text)));
    }
}

/// The newest jobs.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct ListJobsFilter {
    /// How many.
    count: u32,
    /// Leave out those that only ask after other jobs.
    #[serde(default = "yes")]
    filter_find_job: bool,
    /// Has no meaning here.
    #[serde(default)]
    ext_source: Value,
    /// How the result is to be shown; it is then put under `data`.
    #[serde(default)]
    outputter: Option<String>,
    /// Has no meaning here.
    #[serde(default)]
    display_progress: bool,
}

impl Function for ListJobsFilter {
    const NAME: &'static str = "jobs.list_jobs_filter";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let mut jobs = context.requests.ledger().jobs(&JobFilter::default()).await?;
        if self.filter_find_job {
            jobs.retain(|job| job.function != "saltutil.find_job");
        }
        jobs.truncate(self.count as usize);
        Ok(with_outputter(self.outputter, listed(&jobs)))
    }
}

/// A job with what it was to do and all that came of it.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct ListJob {
    /// The job's id.
    jid: String,
    /// Has no meaning here.
    #[serde(default)]
    ext_source: Value,
    /// Has no meaning here.
    #[serde(default)]
    display_progress: bool,
}

impl Function for ListJob {
    const NAME: &'static str = "jobs.list_job";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(Found::look(&context, &self.jid).await?.whole(&self.jid).into())
    }
}

/// What a job gave, by target.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct LookupJid {
    /// The job's id.
    jid: String,
    /// Has no meaning here.
    #[serde(default)]
    ext_source: Value,
    /// Those that gave a result.
    #[serde(default = "yes")]
    returned: bool,
    /// Those that gave none, too.
    #[serde(default)]
    missing: bool,
    /// Has no meaning here.
    #[serde(default)]
    display_progress: bool,
}

impl Function for LookupJid {
    const NAME: &'static str = "jobs.lookup_jid";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let found = Found::look(&context, &self.jid).await?;
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

/// A job under its id, with what it was to do and all that came of it.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct PrintJob {
    /// The job's id.
    jid: String,
    /// Has no meaning here.
    #[serde(default)]
    ext_source: Value,
}

impl Function for PrintJob {
    const NAME: &'static str = "jobs.print_job";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let found = Found::look(&context, &self.jid).await?;
        Ok(Map::from_iter([(self.jid.as_str().into(), found.details(&self.jid).into())]).into())
    }
}

/// Whether a job gave something that is not empty, by target.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
pub struct ExitSuccess {
    /// The job's id.
    jid: String,
    /// Has no meaning here.
    #[serde(default)]
    ext_source: Value,
}

impl Function for ExitSuccess {
    const NAME: &'static str = "jobs.exit_success";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let found = Found::look(&context, &self.jid).await?;
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

/// The newest job that fits, as `jobs.print_job` shows it.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "Salt's clients may give them")]
#[serde(default)]
#[derive(Default)]
pub struct LastRun {
    /// Has no meaning here.
    ext_source: Value,
    /// How the result is to be shown; it is then put under `data`.
    outputter: Option<String>,
    /// A map: jobs of whose metadata any of these is part.
    metadata: Map,
    /// Functions: a pattern, a list of them, or several with commas between.
    function: Value,
    /// Targets, in the same way.
    target: Value,
    /// Has no meaning here.
    display_progress: bool,
}

impl Function for LastRun {
    const NAME: &'static str = "jobs.last_run";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let wanted = ListJobs {
            search_metadata: self.metadata,
            search_function: self.function,
            search_target: self.target,
            ..ListJobs::default()
        };
        let Some(job) = wanted.found(&context).await?.into_iter().next() else { return Ok(false.into()) };
        let id = job.id;
        let found = Found { returns: context.requests.ledger().returns(id).await?, job: Some(JobRecord::clone(&job)) };
        let shown = Map::from_iter([(id.as_str().into(), found.details(id.as_str()).into())]);
        Ok(with_outputter(self.outputter, shown))
    }
}

/// What the controller itself works on: runners and wheel functions that are not done.
#[derive(Deserialize, JsonSchema)]
pub struct Master {}

impl Function for Master {
    const NAME: &'static str = "jobs.master";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let running =
            JobFilter { running: true, functions: vec!["runner.*".into(), "wheel.*".into()], ..JobFilter::default() };
        let jobs = context.requests.ledger().jobs(&running).await?;
        Ok(texts(jobs.iter().map(|job| {
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

/// A job and its returns, if there is one of that id.
pub(crate) struct Found {
    job: Option<JobRecord>,
    returns: Vec<ReturnRecord>,
}

impl Found {
    async fn look(context: &Context, jid: &str) -> Result<Found, Failure> {
        let ledger = context.requests.ledger();
        // What can't be an id is the id of no job.
        let Ok(id) = jid.parse::<JobId>() else { return Ok(Found { job: None, returns: Vec::new() }) };
        match ledger.job(id).await? {
            Some(job) => Ok(Found { job: Some(job), returns: ledger.returns(id).await? }),
            None => Ok(Found { job: None, returns: Vec::new() }),
        }
    }

    fn whole(&self, jid: &str) -> Map {
        let mut shown = Map::new();
        shown.insert("jid", jid);
        shown.extend(self.details(jid));
        shown
    }

    fn details(&self, jid: &str) -> Map {
        let mut shown = match &self.job {
            Some(job) => {
                let mut shown = described(job);
                let start = shown.remove("StartTime");
                shown.insert("Minions", texts(job.targets.iter().map(String::as_str)));
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

/// A target's share as `jobs.list_job` shows it.
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

fn listed(jobs: &[Arc<JobRecord>]) -> Map {
    jobs.iter().map(|job| (job.id.as_str().into(), described(job).into())).collect()
}

/// What a job was to do, as Salt's runners show it.
fn described(job: &JobRecord) -> Map {
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

/// A text with commas, or a list.
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

fn moment(name: &str, value: &Value) -> Result<Option<u64>, Failure> {
    if !value.truth() {
        return Ok(None);
    }
    let text = value.to_string();
    let read = times::parse(&text);
    read.map(Some).ok_or_else(|| {
        Failure::said(format!(
            "{name}: '{text}' is no time; give it as in '2026, Jan 31 09:30' or '2026-01-31 09:30:00'"
        ))
    })
}

fn yes() -> bool {
    true
}
