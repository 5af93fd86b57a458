//! `match`: evaluates target expressions.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, select,
};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<CompoundMatches>()];

/// Whether a compound target matches a target: its id under `res`, or false.
#[derive(Deserialize, JsonSchema)]
pub struct CompoundMatches {
    /// The compound target.
    expr: String,
    /// The target's id.
    minion_id: String,
}

impl ControllerFunction for CompoundMatches {
    const NAME: &'static str = "match.compound_matches";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let selected = select(&context, &self.expr.into(), "compound").await;
        let found = selected.is_ok_and(|entries| entries.iter().any(|entry| entry.id == self.minion_id));
        let result = if found { Value::from(self.minion_id) } else { Value::Bool(false) };
        Ok(Map::from_iter([("res".into(), result)]).into())
    }
}
