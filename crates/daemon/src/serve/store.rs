//! A store that measures its commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rocksalt_backends::store::{
    self, Committed, Error, KeyRange, Lease, Pair, RangeResult, Revision, Store, StoreWatch, Transaction,
};

use super::metrics::Metrics;
use super::{Error as StartError, Settings};

pub async fn open(settings: &Settings, metrics: &Arc<Metrics>) -> Result<Arc<dyn Store>, StartError> {
    let store = store::open(&settings.store, &settings.store_settings).await?;
    Ok(Arc::new(MeteredStore { store, metrics: Arc::clone(metrics) }))
}

/// Measures how long commits take.
struct MeteredStore {
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
}

#[async_trait]
impl Store for MeteredStore {
    fn limits(&self) -> rocksalt_backends::store::TransactionLimits {
        self.store.limits()
    }

    async fn get(&self, key: &str) -> Result<Option<Pair>, Error> {
        self.store.get(key).await
    }

    async fn range(&self, range: &KeyRange) -> Result<RangeResult, Error> {
        self.store.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let begun = Instant::now();
        let outcome = self.store.commit(transaction).await;
        self.metrics.committed(begun.elapsed(), outcome.is_ok());
        outcome
    }

    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error> {
        self.store.lease(time_to_live).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, Error> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        self.store.compact(before).await
    }
}
