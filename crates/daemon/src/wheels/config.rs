//! `config`: what the controller is told.

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry};
use crate::requests::Loaded;

pub const FUNCTIONS: &[Entry] = &[entry::<Values>()];

/// Keys that hold no secrets, whatever their values. All others stay here: a new one is shown once somebody has thought
/// about it.
const SHOWN: &[&str] = &[
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

/// The configuration, but for what may hold secrets.
#[derive(Deserialize, JsonSchema)]
pub struct Values {}

impl Function for Values {
    const NAME: &'static str = "config.values";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        Ok(harmless(&context.loaded).into())
    }
}

pub fn harmless(loaded: &Loaded) -> Map {
    let shown = |key: &&Value| key.as_str().is_some_and(|key| SHOWN.contains(&key) || key.starts_with("saltgui_"));
    let mut values = Map::new();
    // Pages take these for granted.
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
