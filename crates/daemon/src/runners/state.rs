//! `state`: runs over many targets. There are none yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[
    entry::<Orchestrate>().also(&["state.orch", "state.sls"]),
    entry::<OrchestrateShowSls>().also(&["state.orch_show_sls"]),
    entry::<OrchestrateSingle>(),
];

fn absent() -> Failure {
    Failure::said(
        "there are no orchestrations yet\nhint: `state.apply` with requisites on other targets, or several requests, do the same",
    )
}

/// Would run states on the controller that run others on targets. A failure: there are no orchestrations yet.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it can't be done yet")]
pub struct Orchestrate {
    /// The state files.
    #[serde(default)]
    mods: Value,
    /// Their environment.
    #[serde(default)]
    saltenv: Value,
    /// Only say what would change.
    #[serde(default)]
    test: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for Orchestrate {
    const NAME: &'static str = "state.orchestrate";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Err(absent())
    }
}

/// Would run one such state. A failure: there are no orchestrations yet.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it can't be done yet")]
pub struct OrchestrateSingle {
    /// The state.
    #[serde(default)]
    fun: Value,
    /// What it is about.
    #[serde(default)]
    name: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for OrchestrateSingle {
    const NAME: &'static str = "state.orchestrate_single";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Err(absent())
    }
}

/// The orchestrations there are, by the controller's id. There are none yet: always an empty map.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to show yet")]
pub struct OrchestrateShowSls {
    /// The state files.
    #[serde(default)]
    mods: Value,
    /// Further ones.
    kwargs: Map,
}

impl Function for OrchestrateShowSls {
    const NAME: &'static str = "state.orchestrate_show_sls";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(Map::from_iter([(context.loaded.id().into(), Map::new().into())]).into())
    }
}
