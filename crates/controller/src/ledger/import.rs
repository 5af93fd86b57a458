//! Jobs that others ran and kept: put into the ledger as they are, without any event.

use rocksalt_backends::store::{Error, Transaction};
use rocksalt_core::record::{JobRecord, ReturnRecord};

use super::{Ledger, keys};

/// etcd takes 128 operations in one transaction.
const TOGETHER: usize = 100;

impl Ledger {
    /// What is there already stays. The record is put last: an import that was cut short is done again as a whole.
    pub async fn import(&self, job: &JobRecord, returns: &[ReturnRecord]) -> Result<(), Error> {
        if self.store.get(&keys::job(job.id)).await?.is_some() {
            return Ok(());
        }
        let encoded = |record: &ReturnRecord| minicbor::to_vec(record).unwrap_or_default();
        for part in returns.chunks(TOGETHER) {
            let put = part.iter().fold(Transaction::default(), |all, record| {
                all.put(keys::return_of(job.id, &record.target), encoded(record))
            });
            self.store.commit(put).await?;
        }
        let key = keys::job(job.id);
        let record = minicbor::to_vec(job).unwrap_or_default();
        self.store.commit(Transaction::default().if_absent(&key).put(&key, record)).await.map(drop)
    }
}
