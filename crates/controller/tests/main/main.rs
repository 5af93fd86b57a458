//! Jobs from their record to their end, on a store in memory and simulated targets.

mod fleet;
mod jobs;
mod ledger;
mod local_jobs;
mod restarts;
