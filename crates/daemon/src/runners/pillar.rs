//! `pillar`: what targets get to know.

use rocksalt_controller::pillar::PillarRequest;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cache::pillar;
use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] = &[entry::<ShowPillar>()];

/// The pillar of a target, with its grains as they were last seen.
#[derive(Deserialize, JsonSchema)]
pub struct ShowPillar {
    /// Its id; a target that is not in the roster gets what any target gets.
    #[serde(default = "anybody")]
    minion: String,
    /// The environment of state files that it is for.
    #[serde(default)]
    saltenv: String,
    /// The environment of the pillar.
    #[serde(default)]
    pillarenv: String,
    /// Merged over the rest.
    #[serde(default)]
    pillar: Map,
    /// Grains over those that are remembered.
    kwargs: Map,
}

impl Function for ShowPillar {
    const NAME: &'static str = "pillar.show_pillar";
    const MARK: Mark = Mark::Private;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let mut grains = context.loaded.controller.grains_cache.grains(&self.minion).unwrap_or_default();
        grains.extend(self.kwargs);
        let wanted = PillarRequest { grains, saltenv: self.saltenv, pillarenv: self.pillarenv, given: self.pillar };
        Ok(pillar(&context, &self.minion, wanted).await?.into())
    }
}

fn anybody() -> String {
    "*".into()
}
