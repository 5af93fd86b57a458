//! `config`: what the controller is told.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry};
use crate::wheels::harmless;

pub const FUNCTIONS: &[Entry] = &[entry::<Get>()];

/// A value of the configuration; what may hold secrets is not shown.
#[derive(Deserialize, JsonSchema)]
pub struct Get {
    /// Its name, or the way to it: `file_roots:base`.
    key: String,
    /// If there is none.
    #[serde(default = "nothing")]
    default: Value,
    /// What stands between the parts of the way.
    #[serde(default = "colon")]
    delimiter: String,
}

impl Function for Get {
    const NAME: &'static str = "config.get";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(harmless(&context.loaded).walk(&self.key, &self.delimiter).cloned().unwrap_or(self.default))
    }
}

fn nothing() -> Value {
    "".into()
}

fn colon() -> String {
    ":".into()
}
