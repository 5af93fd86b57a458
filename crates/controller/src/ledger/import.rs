//! Jobs that others ran and kept: put into the ledger as they are, without any event.

use std::sync::Arc;

use rocksalt_backends::store::{Error, Operation};
use rocksalt_core::record::{JobRecord, ReturnRecord};

use super::writer::Wish;
use super::{Ledger, keys};

/// etcd takes 128 operations in one transaction.
const TOGETHER: usize = 100;

impl Ledger {
    /// What is there already stays. The record is put last: an import that was cut short is done again as a whole.
    pub async fn import(&self, job: &JobRecord, returns: &[ReturnRecord]) -> Result<(), Error> {
        if self.job(job.id).await?.is_some() {
            return Ok(());
        }
        let put = |record: &ReturnRecord| Operation::Put {
            key: keys::return_of(job.id, &record.target),
            value: minicbor::to_vec(record).unwrap_or_default(),
            lease: None,
        };
        for part in returns.chunks(TOGETHER) {
            self.writer.write(Wish { changes: part.iter().map(put).collect(), ..Wish::default() }).await?;
        }
        let mut wish = Wish::default().job(Arc::new(job.clone()));
        wish.absent = Some(keys::job(job.id));
        self.writer.write(wish).await.map(drop)
    }
}
