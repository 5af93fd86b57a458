//! `cache`: cached data of targets.

use rocksalt_controller::pillar::PillarRequest;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{
    CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry, select,
};

pub const FUNCTIONS: &[FunctionEntry] =
    &[entry::<ClearGrains>().also(&["cache.clear_all"]), entry::<Grains>(), entry::<Mine>(), entry::<Pillar>()];

/// The cached grains of targets.
#[derive(Deserialize, JsonSchema)]
pub struct Grains {
    /// The target expression.
    #[serde(default = "all_targets")]
    tgt: Value,
    /// The kind of the target expression.
    #[serde(default)]
    tgt_type: String,
}

impl ControllerFunction for Grains {
    const NAME: &'static str = "cache.grains";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let mut all = Map::new();
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            if let Some(grains) = context.loaded.controller.known_grains(&entry) {
                all.insert(entry.id, grains);
            }
        }
        Ok(all.into())
    }
}

/// The pillar of targets, compiled with their cached grains.
#[derive(Deserialize, JsonSchema)]
pub struct Pillar {
    /// The target expression.
    #[serde(default = "all_targets")]
    tgt: Value,
    /// The kind of the target expression.
    #[serde(default)]
    tgt_type: String,
}

impl ControllerFunction for Pillar {
    const NAME: &'static str = "cache.pillar";
    const RECORD: CallRecord = CallRecord::Private;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let mut all = Map::new();
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            let grains = context.loaded.controller.known_grains(&entry).unwrap_or_default();
            all.insert(
                entry.id.as_str(),
                pillar(&context, &entry.id, PillarRequest { grains, ..PillarRequest::default() }).await?,
            );
        }
        Ok(all.into())
    }
}

/// Compiles a target's pillar.
pub async fn pillar(context: &FunctionContext, id: &str, wanted: PillarRequest) -> Result<Map, FunctionFailure> {
    let compiled = context.loaded.controller.pillar(id, wanted).await;
    Ok(compiled.map_err(|problem| FunctionFailure::failed(problem.text))?.data)
}

/// The mine. It is not implemented yet: always empty.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not implemented yet")]
pub struct Mine {
    /// The target expression.
    #[serde(default = "all_targets")]
    tgt: Value,
    /// The kind of the target expression.
    #[serde(default)]
    tgt_type: String,
}

impl ControllerFunction for Mine {
    const NAME: &'static str = "cache.mine";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Ok(Map::new().into())
    }
}

/// Clears the cached grains of targets.
#[derive(Deserialize, JsonSchema)]
pub struct ClearGrains {
    /// The target expression.
    #[serde(default = "all_targets")]
    tgt: Value,
    /// The kind of the target expression.
    #[serde(default)]
    tgt_type: String,
}

impl ControllerFunction for ClearGrains {
    const NAME: &'static str = "cache.clear_grains";

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            context.loaded.controller.grains_cache.forget(&entry.id);
        }
        Ok(true.into())
    }
}

fn all_targets() -> Value {
    "*".into()
}
