//! `cache`: what is remembered of targets, without asking them.

use rocksalt_controller::pillar::PillarRequest;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::functions::{Context, Entry, Failure, Function, Mark, entry, select};

pub const FUNCTIONS: &[Entry] =
    &[entry::<ClearGrains>().also(&["cache.clear_all"]), entry::<Grains>(), entry::<Mine>(), entry::<Pillar>()];

/// The grains of targets as they were last seen.
#[derive(Deserialize, JsonSchema)]
pub struct Grains {
    /// Whose.
    #[serde(default = "everybody")]
    tgt: Value,
    /// What kind of target it is.
    #[serde(default)]
    tgt_type: String,
}

impl Function for Grains {
    const NAME: &'static str = "cache.grains";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let mut all = Map::new();
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            if let Some(mut grains) = context.loaded.controller.grains_cache.grains(&entry.id) {
                grains.extend(entry.grains);
                all.insert(entry.id, grains);
            }
        }
        Ok(all.into())
    }
}

/// The pillar of targets, compiled with their grains as they were last seen.
#[derive(Deserialize, JsonSchema)]
pub struct Pillar {
    /// Whose.
    #[serde(default = "everybody")]
    tgt: Value,
    /// What kind of target it is.
    #[serde(default)]
    tgt_type: String,
}

impl Function for Pillar {
    const NAME: &'static str = "cache.pillar";
    const MARK: Mark = Mark::Private;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let mut all = Map::new();
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            let grains = context.loaded.controller.grains_cache.grains(&entry.id).unwrap_or_default();
            all.insert(
                entry.id.as_str(),
                pillar(&context, &entry.id, PillarRequest { grains, ..PillarRequest::default() }).await?,
            );
        }
        Ok(all.into())
    }
}

/// A target's pillar, as it would get it.
pub async fn pillar(context: &Context, id: &str, wanted: PillarRequest) -> Result<Map, Failure> {
    let compiled = context.loaded.controller.pillar(id, wanted).await;
    Ok(compiled.map_err(|problem| Failure::said(problem.text))?.data)
}

/// What targets have told others. There is no mine yet: always nothing.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "there is nothing to look for yet")]
pub struct Mine {
    /// Whose.
    #[serde(default = "everybody")]
    tgt: Value,
    /// What kind of target it is.
    #[serde(default)]
    tgt_type: String,
}

impl Function for Mine {
    const NAME: &'static str = "cache.mine";
    const MARK: Mark = Mark::Looks;

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Ok(Map::new().into())
    }
}

/// Forgets what is remembered of targets: it is asked for anew.
#[derive(Deserialize, JsonSchema)]
pub struct ClearGrains {
    /// Whose.
    #[serde(default = "everybody")]
    tgt: Value,
    /// What kind of target it is.
    #[serde(default)]
    tgt_type: String,
}

impl Function for ClearGrains {
    const NAME: &'static str = "cache.clear_grains";

    async fn call(self, context: Context) -> Result<Value, Failure> {
        for entry in select(&context, &self.tgt, &self.tgt_type).await? {
            context.loaded.controller.grains_cache.forget(&entry.id);
        }
        Ok(true.into())
    }
}

fn everybody() -> Value {
    "*".into()
}
