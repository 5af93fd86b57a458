//! Salt's runner functions by name, one file a noun.

use std::sync::Arc;

use rocksalt_core::request::Local;

use crate::desk::{Caller, Desk, Kind, Ran, Refusal};

/// Runs a function with its events; a failure of the function itself is a result that says so.
pub async fn run(_desk: &Arc<Desk>, _caller: &Caller, _local: Local) -> Result<Ran, Refusal> {
    // TODO(SALTAPI)
    Err(Refusal::new(Kind::Unavailable, "not yet"))
}
