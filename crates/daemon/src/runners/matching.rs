//! `match`: whom a target means.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry, select};

pub const FUNCTIONS: &[Entry] = &[entry::<CompoundMatches>()];

/// Whether a compound target means a certain one: its id under `res`, or false.
#[derive(Deserialize, JsonSchema)]
pub struct CompoundMatches {
    /// The target.
    expr: String,
    /// Its id.
    minion_id: String,
}

impl Function for CompoundMatches {
    const NAME: &'static str = "match.compound_matches";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let meant = select(&context, &self.expr.into(), "compound").await;
        let found = meant.is_ok_and(|entries| entries.iter().any(|entry| entry.id == self.minion_id));
        let result = if found { Value::from(self.minion_id) } else { Value::Bool(false) };
        Ok(Map::from_iter([("res".into(), result)]).into())
    }
}
