//! `mine`: what targets tell each other. There is no mine yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Get>()];

/// What targets have told. There is no mine yet: always nothing.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to look for yet")]
pub struct Get {
    /// Whose.
    tgt: Value,
    /// The function.
    fun: Value,
    /// What kind of target it is.
    #[serde(default)]
    tgt_type: String,
}

impl Function for Get {
    const NAME: &'static str = "mine.get";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Map::new().into())
    }
}
