//! [`Index`]: the newest jobs' records in memory, identical to those in the store, so that listing them reads nothing.
//!
//! A write of this process updates the index before the writer answers. The index is limited; older jobs are read from
//! the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksalt_backends::store::{Error, KeyRange, Store};
use rocksalt_core::JobId;
use rocksalt_core::record::JobRecord;

use super::keys;

/// The index holds at most this many jobs, and this many bytes in their stored form.
const MOST: usize = 2048;
const BYTES: usize = 4 << 20;

pub struct Index(Mutex<IndexedJobs>);

#[derive(Default)]
struct IndexedJobs {
    jobs: BTreeMap<JobId, (Arc<JobRecord>, usize)>,
    bytes: usize,
    /// All jobs from this one on are in memory; with `None` all jobs are.
    from: Option<JobId>,
    version: u64,
}

impl Index {
    pub async fn read(store: &dyn Store) -> Result<Index, Error> {
        let listing = store.range(&KeyRange::prefix(keys::JOBS).descending().limit(MOST)).await?;
        let mut known = IndexedJobs::default();
        let oldest = listing.pairs.last().and_then(|pair| keys::job_id(&pair.key));
        for pair in &listing.pairs {
            if let Ok(job) = minicbor::decode::<JobRecord>(&pair.value) {
                known.put(Arc::new(job), pair.value.len());
            }
        }
        if listing.more {
            known.from = known.from.max(oldest);
        }
        Ok(Index(Mutex::new(known)))
    }

    fn indexed(&self) -> MutexGuard<'_, IndexedJobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds or replaces a stored record.
    pub fn put(&self, job: Arc<JobRecord>, size: usize) {
        self.indexed().put(job, size);
    }

    pub fn forget(&self, jobs: &[JobId]) {
        let mut known = self.indexed();
        known.version += 1;
        for job in jobs {
            if let Some((_, size)) = known.jobs.remove(job) {
                known.bytes -= size;
            }
        }
    }

    /// Changes whenever a job changes.
    pub fn version(&self) -> u64 {
        self.indexed().version
    }

    pub fn get(&self, job: JobId) -> Option<Arc<JobRecord>> {
        self.indexed().jobs.get(&job).map(|(record, _)| Arc::clone(record))
    }

    /// Matching jobs before `before` (all jobs without it), the newest first. If the store may have more, also the job
    /// before which it must be read.
    pub fn find(
        &self,
        before: Option<JobId>,
        limit: usize,
        fits: impl Fn(&JobRecord) -> bool,
    ) -> (Vec<Arc<JobRecord>>, Option<JobId>) {
        // Copied first, so that the search does not hold the lock.
        let (jobs, from) = {
            let known = self.indexed();
            let all = known.jobs.iter().rev().skip_while(|(id, _)| before.is_some_and(|before| **id >= before));
            let jobs: Vec<Arc<JobRecord>> = all.map(|(_, (job, _))| Arc::clone(job)).collect();
            (jobs, known.from)
        };
        let mut found: Vec<Arc<JobRecord>> =
            jobs.into_iter().filter(|job| fits(job)).take(limit.saturating_add(1)).collect();
        let enough = found.len() > limit;
        found.truncate(limit);
        let older = from.map(|from| before.map_or(from, |before| before.min(from)));
        (found, older.filter(|_| !enough))
    }
}

impl IndexedJobs {
    fn put(&mut self, job: Arc<JobRecord>, size: usize) {
        self.version += 1;
        if self.from.is_some_and(|from| job.id < from) {
            return;
        }
        if let Some((_, before)) = self.jobs.insert(job.id, (job, size)) {
            self.bytes -= before;
        }
        self.bytes += size;
        while (self.jobs.len() > MOST || self.bytes > BYTES) && self.jobs.len() > 1 {
            if let Some((_, (_, size))) = self.jobs.pop_first() {
                self.bytes -= size;
            }
            self.from = self.jobs.keys().next().copied();
        }
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::record::JobState;
    use rocksalt_core::{Map, Value};

    use super::*;

    fn job(time: u64) -> Arc<JobRecord> {
        Arc::new(JobRecord {
            id: JobId::at(time),
            function: "test.ping".into(),
            args: Vec::new(),
            kwargs: Map::new(),
            target: "*".into(),
            target_kind: "glob".into(),
            targets: Vec::new(),
            missing: Vec::new(),
            user: "ann".into(),
            eauth: "file".into(),
            metadata: Value::Null,
            started: time,
            state: JobState::Running,
            ended: None,
            owner: "me".into(),
            options: Default::default(),
            delimiter: None,
        })
    }

    #[test]
    fn it_says_from_where_on_the_store_knows_more() {
        let index = Index(Mutex::default());
        for time in 0..10 {
            index.put(job(time), 100);
        }
        let times = |(found, older): (Vec<Arc<JobRecord>>, Option<JobId>)| {
            (found.iter().map(|job| job.started).collect::<Vec<_>>(), older)
        };
        assert_eq!(times(index.find(None, 3, |_| true)), (vec![9, 8, 7], None));
        assert_eq!(times(index.find(Some(JobId::at(2)), 9, |_| true)), (vec![1, 0], None));
        for time in 10..MOST as u64 + 5 {
            index.put(job(time), 100);
        }
        let (found, older) = index.find(None, usize::MAX, |_| true);
        assert_eq!((found.len(), older), (MOST, Some(JobId::at(5))));
        assert_eq!(index.find(None, 3, |_| true).1, None, "enough in memory");
        assert_eq!(index.find(Some(JobId::at(2)), 3, |_| true), (vec![], Some(JobId::at(2))));
        // Writing an old job again does not bring it back.
        index.put(job(3), 100);
        assert_eq!(index.get(JobId::at(3)), None);
        // Large records make the index shorter.
        index.put(job(1 << 20), BYTES);
        let (found, older) = index.find(None, usize::MAX, |_| true);
        assert_eq!((found.len(), older), (1, Some(JobId::at(1 << 20))));
    }
}
