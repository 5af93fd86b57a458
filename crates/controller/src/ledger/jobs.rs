//! Jobs in the ledger: begun, returned, ended, found.

use rocksalt_backends::store::{Committed, Error, Operation, Range, Transaction};
use rocksalt_core::record::{JobRecord, JobState, Kept, ReturnRecord};
use rocksalt_core::request::JobFilter;
use rocksalt_core::{Event, JobId, Map, Value};

use super::{Ledger, keys};
use crate::job_events;

/// What a job begins with.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    /// Chosen by the asker; else the time.
    pub id: Option<JobId>,
    pub function: String,
    pub args: Vec<Value>,
    pub kwargs: Map,
    pub target: String,
    pub target_kind: String,
    pub targets: Vec<String>,
    pub missing: Vec<String>,
    pub user: String,
    pub metadata: Value,
}

impl Ledger {
    /// Stores a job's record, and says that it is new. Only then may anything be sent.
    ///
    /// `None` if a job of that id is there already; without an id of the asker's there is always one.
    pub async fn begin(&self, new: NewJob, state: JobState) -> Result<Option<JobRecord>, Error> {
        let chosen = new.id;
        let mut micros = (self.settings.now)();
        let mut job = JobRecord {
            id: chosen.unwrap_or_else(|| JobId::at(micros)),
            function: new.function,
            args: new.args,
            kwargs: new.kwargs,
            target: new.target,
            target_kind: new.target_kind,
            targets: new.targets,
            missing: new.missing,
            user: new.user,
            metadata: new.metadata,
            started: micros,
            state,
            ended: None,
            owner: self.settings.owner.clone(),
        };
        loop {
            let key = keys::job(job.id);
            let transaction = Transaction::default().if_absent(&key).put(&key, encoded(&job));
            match (self.store.commit(transaction).await?, chosen) {
                (Committed::Done(_), _) => break,
                (Committed::Conflict, Some(_)) => return Ok(None),
                // Two jobs in one microsecond.
                (Committed::Conflict, None) => {
                    micros += 1;
                    job.id = JobId::at(micros);
                }
            }
        }
        self.writer.write(Vec::new(), job_events::new(&job)).await?;
        Ok(Some(job))
    }

    /// Stores a target's return and its event together; once this answers, it can be acknowledged.
    pub async fn returned(&self, job: &JobRecord, target: &str, outcome: Kept) -> Result<ReturnRecord, Error> {
        let (outcome, cut_from) = cut(outcome, self.settings.largest_return);
        let outputter = job_events::outputter(&job.function).map(str::to_owned);
        let record =
            ReturnRecord { target: target.to_owned(), outcome, ended: (self.settings.now)(), outputter, cut_from };
        let put = Operation::Put { key: keys::return_of(job.id, target), value: encoded(&record), lease: None };
        self.writer.write(vec![put], vec![job_events::returned(job, &record)]).await?;
        Ok(record)
    }

    /// Stores how a job stands now, with the events that go with it.
    pub async fn set_state(&self, job: &mut JobRecord, state: JobState, events: Vec<Event>) -> Result<(), Error> {
        job.state = state;
        job.ended = state.ended().then(|| (self.settings.now)());
        let put = Operation::Put { key: keys::job(job.id), value: encoded(job), lease: None };
        self.writer.write(vec![put], events).await.map(drop)
    }

    pub async fn job(&self, id: JobId) -> Result<Option<JobRecord>, Error> {
        Ok(self.store.get(&keys::job(id)).await?.and_then(|pair| minicbor::decode(&pair.value).ok()))
    }

    pub async fn returns(&self, id: JobId) -> Result<Vec<ReturnRecord>, Error> {
        let listing = self.store.range(&Range::prefix(&keys::returns(id))).await?;
        Ok(listing.pairs.iter().filter_map(|pair| minicbor::decode(&pair.value).ok()).collect())
    }

    /// The newest first.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRecord>, Error> {
        let mut range = Range::prefix(keys::JOBS).backwards();
        if let Some(prefix) = &filter.prefix {
            if !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
                return Ok(Vec::new());
            }
            range = Range::prefix(&format!("{}{prefix}", keys::JOBS)).backwards();
        }
        if let Some(before) = filter.before {
            range.to = range.to.min(keys::job(before));
        }
        let listing = self.store.range(&range).await?;
        let records = listing.pairs.iter().filter_map(|pair| minicbor::decode::<JobRecord>(&pair.value).ok());
        let fitting = records.filter(|job| fits(filter, job));
        Ok(fitting.take(filter.limit.unwrap_or(usize::MAX)).collect())
    }

    /// Forgets what is older than it must be kept.
    pub async fn expire(&self) -> Result<(), Error> {
        let now = (self.settings.now)();
        let oldest = JobId::at(now.saturating_sub(self.settings.keep_jobs_seconds * 1_000_000));
        let range = Range { to: keys::job(oldest), ..Range::prefix(keys::JOBS) };
        for pair in self.store.range(&range.limit(1000)).await?.pairs {
            let Ok(job) = minicbor::decode::<JobRecord>(&pair.value) else { continue };
            if !job.state.ended() {
                continue;
            }
            let returns = self.store.range(&Range::prefix(&keys::returns(job.id)).keys_only()).await?.pairs;
            // The record last: what is left of it after a crash is found again.
            for part in returns.chunks(100) {
                let gone = part.iter().fold(Transaction::default(), |all, pair| all.delete(&pair.key));
                self.store.commit(gone).await?;
            }
            self.store.commit(Transaction::default().delete(&pair.key)).await?;
        }
        self.expire_events(now).await
    }

    async fn expire_events(&self, now: u64) -> Result<(), Error> {
        let oldest = now.saturating_sub(self.settings.keep_events_seconds * 1_000_000);
        loop {
            let page = self.store.range(&Range::prefix(keys::EVENTS).limit(100)).await?.pairs;
            let old = |value: &[u8]| {
                minicbor::decode::<rocksalt_core::record::Logged>(value).map_or(true, |event| event.stamp < oldest)
            };
            let gone: Vec<&str> = page.iter().take_while(|pair| old(&pair.value)).map(|pair| &*pair.key).collect();
            if gone.is_empty() {
                return Ok(());
            }
            let whole = gone.len() == page.len();
            self.store.commit(gone.into_iter().fold(Transaction::default(), Transaction::delete)).await?;
            if !whole {
                return Ok(());
            }
        }
    }
}

fn encoded<T: minicbor::Encode<()>>(record: &T) -> Vec<u8> {
    // Into memory nothing can fail.
    minicbor::to_vec(record).unwrap_or_default()
}

/// A result that is too large becomes a text that says so, with its beginning.
pub fn cut(outcome: Kept, largest: usize) -> (Kept, Option<u64>) {
    let Kept::Returned(mut result) = outcome else { return (outcome, None) };
    let size = minicbor::to_vec(&result.value).map_or(0, |bytes| bytes.len());
    if size <= largest {
        return (Kept::Returned(result), None);
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
    (Kept::Returned(result), Some(size as u64))
}

/// Whether a job is one of those that are looked for.
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
