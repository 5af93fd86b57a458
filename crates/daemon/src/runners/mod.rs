//! Salt's runner functions by name, one file a noun.

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

pub use jobs::JobList;

use crate::functions::{self, House};
use crate::requests::{Caller, ControllerResult, Refusal, RequestService};

/// Alphabetical by noun.
pub const HOUSE: House = House {
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

/// Runs a function with its events; a failure of the function itself is a result that says so.
pub async fn run(
    requests: &Arc<RequestService>,
    caller: &Caller,
    local: ControllerCall,
) -> Result<ControllerResult, Refusal> {
    functions::run(HOUSE, requests, caller, local).await
}
