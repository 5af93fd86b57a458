//! `minions`: who is there.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry, texts};

pub const FUNCTIONS: &[Entry] = &[entry::<Connected>()];

/// The targets that can be reached.
#[derive(Deserialize, JsonSchema)]
pub struct Connected {}

impl Function for Connected {
    const NAME: &'static str = "minions.connected";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(texts(context.requests.presence().up()))
    }
}
