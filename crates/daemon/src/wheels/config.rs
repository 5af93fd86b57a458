//! `config`: the controller's configuration.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};
use crate::requests::Loaded;

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<Values>()];

/// Keys whose values are never secret. All others are hidden: a new key is shown only after it is added here.
const PUBLIC_KEYS: &[&str] = &[
    "cluster_id",
    "cluster_peers",
    "connect_at_once",
    "default_top",
    "env_order",
    "failhard",
    "file_recv",
    "file_recv_max_size",
    "file_roots",
    "grains_cache_seconds",
    "id",
    "interface",
    "keep_jobs_seconds",
    "links_max",
    "nodegroups",
    "order_masters",
    "output",
    "persist",
    "pillar_merge_lists",
    "pillar_roots",
    "pillar_source_merging_strategy",
    "pillarenv",
    "presence_events",
    "reactor",
    "renderer",
    "roster",
    "roster_file",
    "saltenv",
    "state_aggregate",
    "state_auto_order",
    "state_compress_ids",
    "state_events",
    "state_mode",
    "state_output",
    "state_output_pct",
    "state_top",
    "state_verbose",
    "state_width",
    "syndic_master",
    "test",
    "test_providers_target",
    "timeout",
    "token_expire",
    "top_file_merging_strategy",
];

/// The configuration without keys that may be secret.
#[derive(Deserialize, JsonSchema)]
pub struct Values {}

impl ControllerFunction for Values {
    const NAME: &'static str = "config.values";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(public_values(&context.loaded).into())
    }
}

pub fn public_values(loaded: &Loaded) -> Map {
    let shown =
        |key: &&Value| key.as_str().is_some_and(|key| PUBLIC_KEYS.contains(&key) || key.starts_with("saltgui_"));
    let mut values = Map::new();
    // Web pages expect these.
    values.insert("id", loaded.id());
    values.insert("nodegroups", Map::new());
    values.insert("state_verbose", true);
    values.insert("state_output", "full");
    values.insert("order_masters", false);
    values.insert("syndic_master", "masterofmasters");
    let own = loaded.config.iter().filter(|(key, _)| shown(key));
    values.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    values
}
