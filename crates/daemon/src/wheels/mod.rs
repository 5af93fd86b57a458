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

use rocksalt_core::request::Local;

pub use config::harmless;

use crate::desk::{Caller, Desk, Ran, Refusal};
use crate::functions::{self, House};

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
pub async fn run(desk: &Arc<Desk>, caller: &Caller, local: Local) -> Result<Ran, Refusal> {
    functions::run(HOUSE, desk, caller, local).await
}
