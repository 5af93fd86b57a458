//! `pillar`: the pillar of targets.

use rocksalt_controller::pillar::PillarRequest;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cache::pillar;
use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] = &[entry::<ShowPillar>()];

/// The pillar of a target, compiled with its cached grains.
#[derive(Deserialize, JsonSchema)]
pub struct ShowPillar {
    /// Its id; it need not be in the roster.
    #[serde(default = "any_target")]
    minion: String,
    /// The environment of state files.
    #[serde(default)]
    saltenv: String,
    /// The environment of the pillar.
    #[serde(default)]
    pillarenv: String,
    /// Merged over the result.
    #[serde(default)]
    pillar: Map,
    /// Merged over the cached grains.
    kwargs: Map,
}

impl ControllerFunction for ShowPillar {
    const NAME: &'static str = "pillar.show_pillar";
    const RECORD: CallRecord = CallRecord::Private;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let mut grains = context.loaded.controller.grains_cache.grains(&self.minion).unwrap_or_default();
        grains.extend(self.kwargs);
        let wanted = PillarRequest {
            grains,
            saltenv: self.saltenv,
            pillarenv: self.pillarenv,
            given: self.pillar,
            over: Map::new(),
        };
        Ok(pillar(&context, &self.minion, wanted).await?.into())
    }
}

fn any_target() -> String {
    "*".into()
}
