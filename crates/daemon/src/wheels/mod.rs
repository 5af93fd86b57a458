//! Salt's wheel functions by name, one file a noun.

mod audit;
mod config;
mod error;
mod file_roots;
mod key;
mod minions;
mod pillar_roots;
mod trees;

use std::sync::Arc;

use rocksalt_core::request::ControllerCall;

pub use config::harmless;

use crate::functions::{self, House};
use crate::requests::{Caller, ControllerResult, Refusal, RequestService};

/// Alphabetical by noun.
pub const HOUSE: House = House {
    kind: "wheel",
    nouns: &[
        audit::FUNCTIONS,
        config::FUNCTIONS,
        error::FUNCTIONS,
        file_roots::FUNCTIONS,
        key::FUNCTIONS,
        minions::FUNCTIONS,
        pillar_roots::FUNCTIONS,
    ],
};

/// Runs a function with its events; a failure of the function itself is a result that says so.
pub async fn run(
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    functions::run(HOUSE, requests, caller, local).await
}
