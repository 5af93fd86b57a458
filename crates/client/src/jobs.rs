//! Jobs: started, watched, found, stopped.

use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{JobFilter, RunRequest};
use rocksalt_core::{JobId, Map, Value, json};

use crate::client::{Ask, CBOR};
use crate::{Client, Error, Kind, Watch};

/// How a job is done again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rerun {
    /// The new job's id, if the asker chooses it.
    pub job: Option<JobId>,
    /// Only where it failed.
    pub failed: bool,
}

/// How many come in one answer.
const PAGE: usize = 1000;

impl Client {
    /// Starts a job; its record is stored once this answers. `None`: it means no target.
    ///
    /// With an id of the asker's own ([`RunRequest::job`]) it can be asked again after a broken connection: the same job is
    /// never started twice.
    pub async fn start(&self, run: &RunRequest) -> Result<Option<JobRecord>, Error> {
        let bytes = minicbor::to_vec(run).unwrap_or_default();
        let ask = Ask { body: Some((CBOR, bytes)), ..Ask::new(hyper::Method::POST, "/jobs") };
        unless_nobody(self.record(ask).await)
    }

    /// Starts a job and watches it to its end.
    pub async fn run(&self, run: &RunRequest) -> Result<Option<Watch>, Error> {
        let job = self.start(run).await?;
        Ok(job.map(|job| self.watch(job.id)))
    }

    /// What a job does, from its beginning (as far as it is kept) to its end.
    pub fn watch(&self, job: JobId) -> Watch {
        Watch::new(self.clone(), job)
    }

    /// A job with all its returns.
    pub async fn job(&self, job: JobId) -> Result<(JobRecord, Vec<ReturnRecord>), Error> {
        let path = format!("/jobs/{job}");
        let mut all: Vec<ReturnRecord> = Vec::new();
        loop {
            let after = all.last().map(|last| last.target.clone());
            let ask = Ask::get(&path).query("limit", PAGE).maybe("after", after);
            let (record, returns): (JobRecord, Vec<ReturnRecord>) = self.record(ask).await?;
            let last = returns.len() < PAGE;
            all.extend(returns);
            if last {
                return Ok((record, all));
            }
        }
    }

    /// Jobs that fit, the newest first; all of them if there is no limit.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRecord>, Error> {
        let mut all: Vec<JobRecord> = Vec::new();
        loop {
            let wanted = filter.limit.map_or(PAGE, |limit| limit.saturating_sub(all.len()).min(PAGE));
            if wanted == 0 {
                return Ok(all);
            }
            let before = all.last().map(|last| last.id).or(filter.before);
            let page: Vec<JobRecord> =
                self.record(listing(filter).query("limit", wanted).maybe("before", before)).await?;
            let last = page.len() < wanted;
            all.extend(page);
            if last {
                return Ok(all);
            }
        }
    }

    /// Stops a job; with `kill` its processes get no time to end by themselves.
    pub async fn cancel(&self, job: JobId, kill: bool) -> Result<(), Error> {
        let body = Map::from_iter([("kill".into(), Value::Bool(kill))]);
        self.value(Ask::post(&format!("/jobs/{job}/cancel"), &body.into())).await.map(drop)
    }

    /// The same again, as a new job. `None`: it means no target any more.
    pub async fn rerun(&self, job: JobId, how: &Rerun) -> Result<Option<JobRecord>, Error> {
        let mut body = Map::new();
        body.insert("failed", how.failed);
        if let Some(job) = how.job {
            body.insert("jid", job.as_str());
        }
        unless_nobody(self.record(Ask::post(&format!("/jobs/{job}/rerun"), &body.into())).await)
    }
}

fn listing(filter: &JobFilter) -> Ask<'static> {
    let mut ask = Ask::get("/jobs")
        .maybe("user", filter.user.as_ref())
        .maybe("since", filter.since.map(seconds))
        .maybe("until", filter.until.map(seconds))
        .maybe("prefix", filter.prefix.as_ref());
    for function in &filter.functions {
        ask = ask.query("function", function);
    }
    for target in &filter.targets {
        ask = ask.query("target", target);
    }
    for state in &filter.states {
        ask = ask.query("state", state.name());
    }
    if filter.running {
        ask = ask.query("running", true);
    }
    if !filter.metadata.is_empty() {
        ask = ask.query("metadata", json::compact(&filter.metadata.clone().into()));
    }
    ask
}

/// The daemon says by a refusal of its own kind that a job means no target.
fn unless_nobody(answered: Result<JobRecord, Error>) -> Result<Option<JobRecord>, Error> {
    match answered {
        Ok(job) => Ok(Some(job)),
        Err(Error::Refused { kind: Kind::NoTargets, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Microseconds as the API has them, to the last digit.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
