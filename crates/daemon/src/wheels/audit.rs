//! `audit`: the head of the audit log.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<AuditHead>()];

/// The number and hash of the newest synced entry of the audit log.
#[derive(Deserialize, JsonSchema)]
pub struct AuditHead {}

impl ControllerFunction for AuditHead {
    const NAME: &'static str = "audit.head";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let Some(head) = context.requests.audit.head().await? else { return Ok(Value::Null) };
        let mut map = Map::new();
        map.insert("number", i64::try_from(head.number).unwrap_or(i64::MAX));
        map.insert("hash", head.hash);
        Ok(Value::Map(map))
    }
}
