//! `minions`: connected targets.

use rocksalt_core::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, list_value,
};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Connected>()];

/// The targets that are up.
#[derive(Deserialize, JsonSchema)]
pub struct Connected {}

impl ControllerFunction for Connected {
    const NAME: &'static str = "minions.connected";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(list_value(context.requests.presence().up()))
    }
}
