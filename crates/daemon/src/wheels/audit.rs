//! `audit`: how far the store has seen the audit log.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<Head>()];

/// The number and the hash of the newest entry of the audit log that is on the disk for sure.
#[derive(Deserialize, JsonSchema)]
pub struct Head {}

impl Function for Head {
    const NAME: &'static str = "audit.head";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let Some(head) = context.requests.audit.head().await? else { return Ok(Value::Null) };
        let mut map = Map::new();
        map.insert("number", i64::try_from(head.number).unwrap_or(i64::MAX));
        map.insert("hash", head.hash);
        Ok(Value::Map(map))
    }
}
