//! Starts, watches, lists and cancels jobs.

use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{JobFilter, RunRequest};
use rocksalt_core::{JobId, Map, Value, json};

use crate::client::{ApiRequest, CBOR};
use crate::{Client, Error, JobWatch, RefusalKind};

/// How a job is run again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RerunOptions {
    /// The new job's id, if the caller chooses it.
    pub job: Option<JobId>,
    /// Only on the targets where it failed.
    pub failed: bool,
}

/// Records per response.
const PAGE: usize = 1000;

impl Client {
    /// Starts a job; its record is stored when this returns. `None` if no target matches.
    ///
    /// With an id chosen by the caller ([`RunRequest::job`]) it can be retried after a broken connection: the daemon never
    /// starts the same id twice.
    pub async fn start(&self, run: &RunRequest) -> Result<Option<JobRecord>, Error> {
        let bytes = minicbor::to_vec(run).unwrap_or_default();
        let request = ApiRequest { body: Some((CBOR, bytes)), ..ApiRequest::new(hyper::Method::POST, "/jobs") };
        none_if_no_targets(self.send_cbor(request).await)
    }

    /// Starts a job and watches it.
    pub async fn run(&self, run: &RunRequest) -> Result<Option<JobWatch>, Error> {
        let job = self.start(run).await?;
        Ok(job.map(|job| self.watch(job.id)))
    }

    /// Watches a job from its beginning, as far as it is stored, to its end.
    pub fn watch(&self, job: JobId) -> JobWatch {
        JobWatch::new(self.clone(), job)
    }

    /// A job with all its returns.
    pub async fn job(&self, job: JobId) -> Result<(JobRecord, Vec<ReturnRecord>), Error> {
        let path = format!("/jobs/{job}");
        let mut all: Vec<ReturnRecord> = Vec::new();
        loop {
            let after = all.last().map(|last| last.target.clone());
            let request = ApiRequest::get(&path).query("limit", PAGE).query_opt("after", after);
            let (record, returns): (JobRecord, Vec<ReturnRecord>) = self.send_cbor(request).await?;
            let last = returns.len() < PAGE;
            all.extend(returns);
            if last {
                return Ok((record, all));
            }
        }
    }

    /// Lists matching jobs, newest first; all of them without a limit.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRecord>, Error> {
        let mut all: Vec<JobRecord> = Vec::new();
        loop {
            let wanted = filter.limit.map_or(PAGE, |limit| limit.saturating_sub(all.len()).min(PAGE));
            if wanted == 0 {
                return Ok(all);
            }
            let before = all.last().map(|last| last.id).or(filter.before);
            let page: Vec<JobRecord> =
                self.send_cbor(listing(filter).query("limit", wanted).query_opt("before", before)).await?;
            let last = page.len() < wanted;
            all.extend(page);
            if last {
                return Ok(all);
            }
        }
    }

    /// Cancels a job; with `kill` its processes get SIGKILL at once.
    pub async fn cancel(&self, job: JobId, kill: bool) -> Result<(), Error> {
        let body = Map::from_iter([("kill".into(), Value::Bool(kill))]);
        self.send_json(ApiRequest::post(&format!("/jobs/{job}/cancel"), &body.into())).await.map(drop)
    }

    /// Runs a job again as a new job. `None` if no target matches any more.
    pub async fn rerun(&self, job: JobId, options: &RerunOptions) -> Result<Option<JobRecord>, Error> {
        let mut body = Map::new();
        body.insert("failed", options.failed);
        if let Some(job) = options.job {
            body.insert("jid", job.as_str());
        }
        none_if_no_targets(self.send_cbor(ApiRequest::post(&format!("/jobs/{job}/rerun"), &body.into())).await)
    }
}

fn listing(filter: &JobFilter) -> ApiRequest<'static> {
    let mut request = ApiRequest::get("/jobs")
        .query_opt("user", filter.user.as_ref())
        .query_opt("since", filter.since.map(seconds))
        .query_opt("until", filter.until.map(seconds))
        .query_opt("prefix", filter.prefix.as_ref());
    for function in &filter.functions {
        request = request.query("function", function);
    }
    for target in &filter.targets {
        request = request.query("target", target);
    }
    for state in &filter.states {
        request = request.query("state", state.name());
    }
    if filter.running {
        request = request.query("running", true);
    }
    if !filter.metadata.is_empty() {
        request = request.query("metadata", json::compact(&filter.metadata.clone().into()));
    }
    request
}

/// The daemon reports a job without targets as an error of its own kind.
fn none_if_no_targets(answered: Result<JobRecord, Error>) -> Result<Option<JobRecord>, Error> {
    match answered {
        Ok(job) => Ok(Some(job)),
        Err(Error::Refused { kind: RefusalKind::NoTargets, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Microseconds as seconds with six decimals, as the API takes them.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
