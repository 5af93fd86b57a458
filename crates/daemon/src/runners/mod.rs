//! Salt's runner functions, one file for each noun.

mod auth;
mod cache;
mod config;
mod doc;
mod event;
mod jobs;
mod manage;
mod matching;
mod mine;
mod pillar;
mod saltutil;
mod state;
mod test;
mod times;

use std::sync::Arc;

use rocksalt_core::request::ControllerCall;

pub use jobs::JobListCache;

use crate::functions::{self, FunctionTable};
use crate::requests::{Caller, ControllerResult, Refusal, RequestService};

/// Alphabetical by noun.
pub const FUNCTION_TABLE: FunctionTable = FunctionTable {
    kind: "runner",
    nouns: &[
        auth::FUNCTIONS,
        cache::FUNCTIONS,
        config::FUNCTIONS,
        doc::FUNCTIONS,
        event::FUNCTIONS,
        jobs::FUNCTIONS,
        manage::FUNCTIONS,
        matching::FUNCTIONS,
        mine::FUNCTIONS,
        pillar::FUNCTIONS,
        saltutil::FUNCTIONS,
        state::FUNCTIONS,
        test::FUNCTIONS,
    ],
};

/// Calls a runner function. If it fails, the failure is its result.
pub async fn run(
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    functions::run(FUNCTION_TABLE, requests, caller, local).await
}
