//! `error`: fails on purpose.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Fail>()];

/// Fails, for testing. Without a name it succeeds.
#[derive(Deserialize, JsonSchema)]
pub struct Fail {
    /// The kind of error.
    #[serde(default)]
    name: Option<String>,
    /// The message.
    #[serde(default)]
    message: String,
}

impl ControllerFunction for Fail {
    const NAME: &'static str = "error.error";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        match self.name {
            Some(name) => Err(FunctionFailure::failed(format!("{name}: {}", self.message))),
            None => Ok(Value::Null),
        }
    }
}
