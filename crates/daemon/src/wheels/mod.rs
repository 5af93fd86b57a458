//! Salt's wheel functions, one file for each noun.

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

pub use config::public_values;

use crate::functions::{self, FunctionTable};
use crate::requests::{Caller, ControllerResult, Refusal, RequestService};

/// Alphabetical by noun.
pub const FUNCTION_TABLE: FunctionTable = FunctionTable {
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

/// Calls a wheel function. If it fails, the failure is its result.
pub async fn run(
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    functions::run(FUNCTION_TABLE, requests, caller, local).await
}
