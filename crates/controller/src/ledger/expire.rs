//! Removes jobs and events whose retention time is over.

use rocksalt_backends::store::{Error, KeyRange, Pair, TransactionOp};
use rocksalt_core::JobId;
use rocksalt_core::record::{JobRecord, LoggedEvent};

use super::writer::WriteRequest;
use super::{Ledger, keys};

/// The number of deletes in one commit.
const TOGETHER: usize = 100;

const DAY: u64 = 86_400_000_000;

impl Ledger {
    /// Removes old jobs and events. Returns the number of jobs.
    pub async fn expire(&self) -> Result<usize, Error> {
        let now = (self.settings.now)();
        let oldest = now.saturating_sub(self.settings.keep_jobs_seconds.saturating_mul(1_000_000));
        let all = KeyRange::prefix(keys::JOBS);
        // Job ids are times, so this finds old jobs, and those whose chosen ids are far in the future.
        let old = KeyRange { to: keys::job(JobId::at(oldest)), ..all.clone() };
        let odd = KeyRange { from: keys::job(JobId::at(now + DAY)), ..all };
        let count = self.expire_jobs(old, oldest).await? + self.expire_jobs(odd, oldest).await?;
        self.expire_events(now).await?;
        Ok(count)
    }

    async fn expire_jobs(&self, range: KeyRange, oldest: u64) -> Result<usize, Error> {
        let mut range = range.limit(TOGETHER);
        let mut count = 0;
        loop {
            let page = self.store.range(&range).await?;
            let mut request = WriteRequest::default();
            for pair in &page.pairs {
                if !is_old(pair, oldest) {
                    continue;
                }
                let Some(id) = keys::job_id(&pair.key) else { continue };
                let returns = self.store.range(&KeyRange::prefix(&keys::returns(id)).keys_only()).await?.pairs;
                // The record is deleted last, so that the rest is found again after a crash.
                for part in returns.chunks(TOGETHER) {
                    if request.changes.len() + part.len() > TOGETHER {
                        self.writer.write(std::mem::take(&mut request)).await?;
                    }
                    request.changes.extend(part.iter().map(|pair| TransactionOp::Delete { key: pair.key.clone() }));
                }
                request.changes.push(TransactionOp::Delete { key: pair.key.clone() });
                request.gone.push(id);
                count += 1;
            }
            if !request.changes.is_empty() {
                self.writer.write(request).await?;
            }
            match page.pairs.last().filter(|_| page.more) {
                // Just after the last key.
                Some(last) => range.from = format!("{}!", last.key),
                None => return Ok(count),
            }
        }
    }

    /// Removes old events, but never the newest one: its id determines the next.
    async fn expire_events(&self, now: u64) -> Result<(), Error> {
        let oldest = now.saturating_sub(self.settings.keep_events_seconds.saturating_mul(1_000_000));
        loop {
            let page = self.store.range(&KeyRange::prefix(keys::EVENTS).limit(TOGETHER)).await?;
            let old = |value: &[u8]| minicbor::decode::<LoggedEvent>(value).map_or(true, |event| event.stamp < oldest);
            let newest = self.recent.last();
            let gone: Vec<TransactionOp> = page
                .pairs
                .iter()
                .take_while(|pair| keys::event_id(&pair.key).is_none_or(|id| id < newest) && old(&pair.value))
                .map(|pair| TransactionOp::Delete { key: pair.key.clone() })
                .collect();
            let whole = !gone.is_empty() && gone.len() == page.pairs.len();
            if !gone.is_empty() {
                self.writer.write(WriteRequest { changes: gone, ..WriteRequest::default() }).await?;
            }
            if !whole {
                return Ok(());
            }
        }
    }
}

/// A job that ended long enough ago, or that can't be read.
fn is_old(pair: &Pair, oldest: u64) -> bool {
    minicbor::decode::<JobRecord>(&pair.value).map_or(true, |job| job.ended.is_some_and(|ended| ended < oldest))
}
