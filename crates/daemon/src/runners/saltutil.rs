//! `saltutil`: custom modules, which are not implemented yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[
    entry::<SyncAll>(),
    entry::<Sync>().also(&[
        "saltutil.sync_grains",
        "saltutil.sync_output",
        "saltutil.sync_pillar",
        "saltutil.sync_renderers",
        "saltutil.sync_returners",
        "saltutil.sync_roster",
        "saltutil.sync_runners",
        "saltutil.sync_states",
        "saltutil.sync_tops",
        "saltutil.sync_utils",
        "saltutil.sync_wheel",
    ]),
];

/// Syncs custom modules from the file tree. They are not implemented yet: always an empty list.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct Sync {
    /// The environment.
    #[serde(default)]
    saltenv: Value,
    /// Only these modules.
    #[serde(default)]
    extmod_whitelist: Value,
    /// Not these modules.
    #[serde(default)]
    extmod_blacklist: Value,
}

impl ControllerFunction for Sync {
    const NAME: &'static str = "saltutil.sync_modules";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Value::List(Vec::new()))
    }
}

/// Syncs all kinds of custom modules from the file tree. They are not implemented yet: always empty lists.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct SyncAll {
    /// The environment.
    #[serde(default)]
    saltenv: Value,
    /// Only these modules.
    #[serde(default)]
    extmod_whitelist: Value,
    /// Not these modules.
    #[serde(default)]
    extmod_blacklist: Value,
}

impl ControllerFunction for SyncAll {
    const NAME: &'static str = "saltutil.sync_all";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        let kinds =
            ["modules", "states", "grains", "renderers", "returners", "output", "runners", "wheel", "pillar", "roster"];
        Ok(kinds.map(|kind| (kind.into(), Value::List(Vec::new()))).into_iter().collect::<Map>().into())
    }
}
