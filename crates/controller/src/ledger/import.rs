//! Imports jobs that were recorded elsewhere, unchanged and without events.

use std::sync::Arc;

use rocksalt_backends::store::{Error, TransactionOp};
use rocksalt_core::record::{JobRecord, ReturnRecord};

use super::writer::WriteRequest;
use super::{Ledger, keys};

/// etcd takes 128 operations in one transaction.
const TOGETHER: usize = 100;

impl Ledger {
    /// Imports a job, unless it exists. The record is written last, so that an interrupted import is repeated.
    pub async fn import(&self, job: &JobRecord, returns: &[ReturnRecord]) -> Result<(), Error> {
        if self.job(job.id).await?.is_some() {
            return Ok(());
        }
        let put = |record: &ReturnRecord| TransactionOp::Put {
            key: keys::return_of(job.id, &record.target),
            value: minicbor::to_vec(record).unwrap_or_default(),
            lease: None,
        };
        for part in returns.chunks(TOGETHER) {
            self.writer
                .write(WriteRequest { changes: part.iter().map(put).collect(), ..WriteRequest::default() })
                .await?;
        }
        let mut request = WriteRequest::default().job(Arc::new(job.clone()));
        request.absent = Some(keys::job(job.id));
        self.writer.write(request).await.map(drop)
    }
}
