//! Jobs in the ledger: their records and returns, and searching them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rocksalt_backends::store::{Error, KeyRange, TransactionOp};
use rocksalt_core::job_options::JobOptions;
use rocksalt_core::record::{Account, JobRecord, JobState, LoggedEvent, ReturnRecord, TargetOutcome};
use rocksalt_core::request::JobFilter;
use rocksalt_core::{Event, JobId, Map, Value};

use super::writer::WriteRequest;
use super::{Ledger, keys};
use crate::job_events;

/// How many records are read from the store at a time.
const PAGE: usize = 512;

/// Returns written in one commit: each is two operations, and etcd allows 128.
const TOGETHER: usize = 50;

/// The data of a new job.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    /// The id that the requester chose; otherwise the time becomes the id.
    pub id: Option<JobId>,
    pub function: String,
    pub args: Vec<Value>,
    pub kwargs: Map,
    pub target: String,
    pub target_kind: String,
    pub delimiter: Option<String>,
    pub targets: Vec<String>,
    pub missing: Vec<String>,
    pub account: Account,
    pub metadata: Value,
    pub options: JobOptions,
}

impl NewJob {
    /// The record of a job that starts now.
    pub(crate) fn record(self, id: JobId, started: u64, state: JobState, owner: String) -> JobRecord {
        JobRecord {
            id,
            function: self.function,
            args: self.args,
            kwargs: self.kwargs,
            target: self.target,
            target_kind: self.target_kind,
            targets: self.targets,
            missing: self.missing,
            user: self.account.user,
            metadata: self.metadata,
            started,
            state,
            ended: None,
            owner,
            options: self.options,
            delimiter: self.delimiter,
            eauth: self.account.eauth,
        }
    }
}

impl Ledger {
    /// Stores a job's record and its `new` events in one commit. Nothing may be sent before.
    ///
    /// `None` if the requester chose an id that another job has.
    pub async fn begin(&self, new: NewJob, state: JobState) -> Result<Option<JobRecord>, Error> {
        let chosen = new.id;
        let id = chosen.unwrap_or_else(|| self.new_id());
        let mut job = new.record(id, (self.settings.now)(), state, self.settings.owner.clone());
        loop {
            let record = Arc::new(job);
            let mut request =
                WriteRequest::events(job_events::new(&record), Some(&record.account())).job(Arc::clone(&record));
            request.absent = Some(keys::job(record.id));
            if self.writer.write(request).await?.is_some() {
                return Ok(Some(Arc::unwrap_or_clone(record)));
            }
            if chosen.is_some() {
                return Ok(None);
            }
            // Another controller took the same microsecond: try the next one.
            job = Arc::unwrap_or_clone(record);
            job.id = self.new_id();
        }
    }

    /// An unused job id: the time, or a little later.
    pub fn new_id(&self) -> JobId {
        let now = (self.settings.now)();
        let next = |last: u64| Some(now.max(last + 1));
        let last = self.last_id.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_default();
        JobId::at(now.max(last + 1))
    }

    /// Stores a target's return and its event together. When this returns, the return can be acknowledged.
    pub async fn returned(&self, job: &JobRecord, target: &str, outcome: TargetOutcome) -> Result<ReturnRecord, Error> {
        let record = self.return_record(job, target.to_owned(), outcome);
        let (put, event, _) = stored_return(job, &record);
        self.writer.write(WriteRequest { changes: vec![put], events: vec![event], ..WriteRequest::default() }).await?;
        Ok(record)
    }

    /// The record of a target's outcome; a result that is too large is truncated.
    pub fn return_record(&self, job: &JobRecord, target: String, outcome: TargetOutcome) -> ReturnRecord {
        // A return and its event are stored in one commit.
        let largest = self.settings.largest_return.min(self.store.limits().bytes / 3);
        let (outcome, cut_from) = cut(outcome, largest);
        let outputter = job_events::outputter(&job.function).map(str::to_owned);
        ReturnRecord { target, outcome, ended: (self.settings.now)(), outputter, cut_from }
    }

    /// Stores returns and their events and, with the last of them, the end of the job: in one commit if they are few.
    /// Storing them again changes nothing.
    pub async fn returned_all(
        &self,
        job: &mut JobRecord,
        returns: &[ReturnRecord],
        end: Option<JobState>,
    ) -> Result<(), Error> {
        let room = self.store.limits().bytes / 3;
        let (mut request, mut bytes) = (WriteRequest::default(), 0);
        for record in returns {
            let (put, event, size) = stored_return(job, record);
            bytes += size;
            if !request.changes.is_empty() && (bytes > room || request.changes.len() >= TOGETHER) {
                self.writer.write(std::mem::take(&mut request)).await?;
                bytes = size;
            }
            request.changes.push(put);
            request.events.push(event);
        }
        if let Some(state) = end {
            self.change(job, state);
            request = request.job(Arc::new(job.clone()));
        }
        self.writer.write(request).await.map(drop)
    }

    /// Stores the state of a job, with events.
    pub async fn set_state(&self, job: &mut JobRecord, state: JobState, events: Vec<Event>) -> Result<(), Error> {
        self.change(job, state);
        self.writer.write(WriteRequest::events(events, Some(&job.account())).job(Arc::new(job.clone()))).await.map(drop)
    }

    fn change(&self, job: &mut JobRecord, state: JobState) {
        job.state = state;
        job.ended = state.ended().then(|| (self.settings.now)());
    }

    pub async fn job(&self, id: JobId) -> Result<Option<JobRecord>, Error> {
        if let Some(job) = self.index.get(id) {
            return Ok(Some(JobRecord::clone(&job)));
        }
        Ok(self.store.get(&keys::job(id)).await?.and_then(|pair| minicbor::decode(&pair.value).ok()))
    }

    pub async fn returns(&self, id: JobId) -> Result<Vec<ReturnRecord>, Error> {
        let mut range = KeyRange::prefix(&keys::returns(id)).limit(PAGE);
        let mut all = Vec::new();
        loop {
            let listing = self.store.range(&range).await?;
            all.extend(listing.pairs.iter().filter_map(|pair| minicbor::decode(&pair.value).ok()));
            match listing.pairs.last().filter(|_| listing.more) {
                // Just after the last key.
                Some(last) => range.from = format!("{}!", last.key),
                None => return Ok(all),
            }
        }
    }

    /// Changes whenever a job changes: data derived from a list of jobs is valid as long as this stays the same.
    pub fn jobs_version(&self) -> u64 {
        self.index.version()
    }

    /// The matching jobs, the newest first.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<Arc<JobRecord>>, Error> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let (mut found, older) = self.index.find(filter.before, limit, |job| fits(filter, job));
        let Some(older) = older else { return Ok(found) };
        // A job's id is its time unless the requester chose another: the search begins a day earlier to find most of
        // those.
        let oldest = filter.since.map(|since| keys::job(JobId::at(since.saturating_sub(86_400_000_000))));
        let mut range = KeyRange::prefix(keys::JOBS).descending().limit(PAGE);
        range.to = keys::job(older);
        range.from = oldest.unwrap_or(range.from);
        if let Some(prefix) = &filter.prefix {
            if !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
                return Ok(found);
            }
            let fitting = KeyRange::prefix(&format!("{}{prefix}", keys::JOBS));
            (range.from, range.to) = (range.from.max(fitting.from), range.to.min(fitting.to));
        }
        range.from = range.from.min(range.to.clone());
        loop {
            let listing = self.store.range(&range).await?;
            let records = listing.pairs.iter().filter_map(|pair| minicbor::decode::<JobRecord>(&pair.value).ok());
            found.extend(records.filter(|job| fits(filter, job)).map(Arc::new));
            if found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
            match listing.pairs.last().filter(|_| listing.more) {
                Some(last) => range.to.clone_from(&last.key),
                None => return Ok(found),
            }
        }
    }
}

fn stored_return(job: &JobRecord, record: &ReturnRecord) -> (TransactionOp, LoggedEvent, usize) {
    let value = minicbor::to_vec(record).unwrap_or_default();
    let size = value.len();
    let put = TransactionOp::Put { key: keys::return_of(job.id, &record.target), value, lease: None };
    (put, LoggedEvent::new(job_events::returned(job, record), Some(job.account())), size)
}

/// Replaces a result that is too large by a text that says so.
pub fn cut(outcome: TargetOutcome, largest: usize) -> (TargetOutcome, Option<u64>) {
    let TargetOutcome::Returned(mut result) = outcome else { return (outcome, None) };
    let size = minicbor::to_vec(&result.value).map_or(0, |bytes| bytes.len());
    if size <= largest {
        return (TargetOutcome::Returned(result), None);
    }
    let whole = match &result.value {
        Value::String(text) => text.clone(),
        other => rocksalt_core::json::compact(other),
    };
    let mut end = largest.min(whole.len());
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    result.value = format!("{}\n[cut: {size} bytes are more than the {largest} that are kept]", &whole[..end]).into();
    (TargetOutcome::Returned(result), Some(size as u64))
}

/// Whether a job matches the filter.
pub fn fits(filter: &JobFilter, job: &JobRecord) -> bool {
    let any = |patterns: &[String], text: &str| {
        patterns.is_empty() || patterns.iter().any(|pattern| rocksalt_core::pattern::glob::matches(pattern, text))
    };
    any(&filter.functions, &job.function)
        && (any(&filter.targets, &job.target) || job.targets.iter().any(|id| any(&filter.targets, id)))
        && filter.user.as_ref().is_none_or(|user| *user == job.user)
        && filter.since.is_none_or(|since| job.started >= since)
        && filter.until.is_none_or(|until| job.started <= until)
        && filter.metadata.iter().all(|(key, value)| {
            job.metadata.as_map().and_then(|known| key.as_str().and_then(|key| known.get(key))) == Some(value)
        })
        && (!filter.running || !job.state.ended())
        && (filter.states.is_empty() || filter.states.contains(&job.state))
        && filter.prefix.as_ref().is_none_or(|prefix| job.id.as_str().starts_with(prefix.as_str()))
}
