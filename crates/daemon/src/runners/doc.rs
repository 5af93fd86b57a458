//! `doc`: documentation of functions.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    self, CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, FunctionTable, entry,
};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Execution>(), entry::<Runner>(), entry::<Wheel>()];

/// The documentation of functions on targets.
#[derive(Deserialize, JsonSchema)]
pub struct Execution {}

impl ControllerFunction for Execution {
    const NAME: &'static str = "doc.execution";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(rocksalt_catalog::docs::doc("").into())
    }
}

/// The documentation of runner functions.
#[derive(Deserialize, JsonSchema)]
pub struct Runner {}

impl ControllerFunction for Runner {
    const NAME: &'static str = "doc.runner";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(docs_of(super::FUNCTION_TABLE))
    }
}

/// The documentation of wheel functions.
#[derive(Deserialize, JsonSchema)]
pub struct Wheel {}

impl ControllerFunction for Wheel {
    const NAME: &'static str = "doc.wheel";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(docs_of(crate::wheels::FUNCTION_TABLE))
    }
}

fn docs_of(table: FunctionTable) -> Value {
    table.entries().map(|entry| (entry.name.into(), functions::doc(entry).into())).collect::<Map>().into()
}
