//! `saltutil`: modules of one's own, brought to the controller. There are none yet.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, entry};

pub const FUNCTIONS: &[Entry] = &[
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

/// Takes over modules from the file tree. There is nothing to take over yet: always an empty list.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to take over yet")]
pub struct Sync {
    /// The environment.
    #[serde(default)]
    saltenv: Value,
    /// Only these.
    #[serde(default)]
    extmod_whitelist: Value,
    /// All but these.
    #[serde(default)]
    extmod_blacklist: Value,
}

impl Function for Sync {
    const NAME: &'static str = "saltutil.sync_modules";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Value::List(Vec::new()))
    }
}

/// Takes over all kinds of modules from the file tree. There is nothing to take over yet: always empty lists.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to take over yet")]
pub struct SyncAll {
    /// The environment.
    #[serde(default)]
    saltenv: Value,
    /// Only these.
    #[serde(default)]
    extmod_whitelist: Value,
    /// All but these.
    #[serde(default)]
    extmod_blacklist: Value,
}

impl Function for SyncAll {
    const NAME: &'static str = "saltutil.sync_all";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        let kinds =
            ["modules", "states", "grains", "renderers", "returners", "output", "runners", "wheel", "pillar", "roster"];
        Ok(kinds.map(|kind| (kind.into(), Value::List(Vec::new()))).into_iter().collect::<Map>().into())
    }
}
