//! `config`: the controller's configuration.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};
use crate::wheels::public_values;

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Get>()];

/// A value of the configuration; keys that may be secret are not shown.
#[derive(Deserialize, JsonSchema)]
pub struct Get {
    /// Its name, or a path such as `file_roots:base`.
    key: String,
    /// The result if there is no such value.
    #[serde(default = "empty")]
    default: Value,
    /// Separates the parts of the path.
    #[serde(default = "colon")]
    delimiter: String,
}

impl ControllerFunction for Get {
    const NAME: &'static str = "config.get";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(public_values(&context.loaded).walk(&self.key, &self.delimiter).cloned().unwrap_or(self.default))
    }
}

fn empty() -> Value {
    "".into()
}

fn colon() -> String {
    ":".into()
}
