//! `state`: orchestration, which is not implemented yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<Orchestrate>().also(&["state.orch", "state.sls"]),
    entry::<OrchestrateShowSls>().also(&["state.orch_show_sls"]),
    entry::<OrchestrateSingle>(),
];

fn not_implemented() -> FunctionFailure {
    FunctionFailure::failed(
        "orchestration is not implemented yet\nhint: use `state.apply` with requisites on other targets, or several requests",
    )
}

/// Runs an orchestration. Always fails: it is not implemented yet.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct Orchestrate {
    /// The state files.
    #[serde(default)]
    mods: Value,
    /// Their environment.
    #[serde(default)]
    saltenv: Value,
    /// Dry run.
    #[serde(default)]
    test: Value,
    /// Further arguments.
    kwargs: Map,
}

impl ControllerFunction for Orchestrate {
    const NAME: &'static str = "state.orchestrate";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Err(not_implemented())
    }
}

/// Runs a single orchestration state. Always fails: it is not implemented yet.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct OrchestrateSingle {
    /// The state.
    #[serde(default)]
    fun: Value,
    /// Its name.
    #[serde(default)]
    name: Value,
    /// Further arguments.
    kwargs: Map,
}

impl ControllerFunction for OrchestrateSingle {
    const NAME: &'static str = "state.orchestrate_single";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Err(not_implemented())
    }
}

/// The orchestrations, by the controller's id. They are not implemented yet: always an empty map.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct OrchestrateShowSls {
    /// The state files.
    #[serde(default)]
    mods: Value,
    /// Further arguments.
    kwargs: Map,
}

impl ControllerFunction for OrchestrateShowSls {
    const NAME: &'static str = "state.orchestrate_show_sls";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::from_iter([(context.loaded.id().into(), Map::new().into())]).into())
    }
}
