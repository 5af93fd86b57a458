//! `error`: a failure on purpose.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Fail>()];

/// Fails, to see what that looks like. Without a name it does not.
#[derive(Deserialize, JsonSchema)]
pub struct Fail {
    /// The kind of error.
    #[serde(default)]
    name: Option<String>,
    /// What it says.
    #[serde(default)]
    message: String,
}

impl Function for Fail {
    const NAME: &'static str = "error.error";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        match self.name {
            Some(name) => Err(Failure::said(format!("{name}: {}", self.message))),
            None => Ok(Value::Null),
        }
    }
}
