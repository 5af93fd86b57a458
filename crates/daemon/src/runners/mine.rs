//! `mine`: not implemented yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Get>()];

/// Data of the mine. It is not implemented yet: always empty.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct Get {
    /// The target expression.
    tgt: Value,
    /// The function.
    fun: Value,
    /// The kind of the target expression.
    #[serde(default)]
    tgt_type: String,
}

impl ControllerFunction for Get {
    const NAME: &'static str = "mine.get";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::new().into())
    }
}
