//! `pillar_roots`: reads the files of the pillar. Nothing here writes to them (`docs/security-rules.md#r17`).

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::trees;
use crate::functions::{CallRecord, ControllerFunction, FunctionContext, FunctionEntry, FunctionFailure, entry};

pub const FUNCTIONS: &[FunctionEntry] =
    &[entry::<Find>(), entry::<ListEnv>(), entry::<ListRoots>(), entry::<Read>(), entry::<Write>()];

/// Finds a file: its environment and path.
#[derive(Deserialize, JsonSchema)]
pub struct Find {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl ControllerFunction for Find {
    const NAME: &'static str = "pillar_roots.find";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        trees::find(&*context.loaded.controller.pillar.files, &self.saltenv, &self.path).await
    }
}

/// All files of an environment as nested maps.
#[derive(Deserialize, JsonSchema)]
pub struct ListEnv {
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl ControllerFunction for ListEnv {
    const NAME: &'static str = "pillar_roots.list_env";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        trees::list(&*context.loaded.controller.pillar.files, &self.saltenv).await
    }
}

/// All files of all environments as nested maps.
#[derive(Deserialize, JsonSchema)]
pub struct ListRoots {}

impl ControllerFunction for ListRoots {
    const NAME: &'static str = "pillar_roots.list_roots";
    const RECORD: CallRecord = CallRecord::ReadOnly;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        let mut all = Map::new();
        for environment in context.loaded.controller.pillar.files.environments() {
            let tree = trees::list(&*context.loaded.controller.pillar.files, &environment).await?;
            all.insert(environment, vec![tree]);
        }
        Ok(all.into())
    }
}

/// The content of a file.
#[derive(Deserialize, JsonSchema)]
pub struct Read {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl ControllerFunction for Read {
    const NAME: &'static str = "pillar_roots.read";
    const RECORD: CallRecord = CallRecord::Private;

    async fn call(self, context: FunctionContext) -> Result<Value, FunctionFailure> {
        trees::read(&*context.loaded.controller.pillar.files, &self.saltenv, &self.path).await
    }
}

/// Writes a file. Always fails: the tree is read-only here.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "not supported")]
pub struct Write {
    /// What to write.
    data: Value,
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
    /// The index of the directory.
    #[serde(default)]
    index: Value,
}

impl ControllerFunction for Write {
    const NAME: &'static str = "pillar_roots.write";

    async fn call(self, _: FunctionContext) -> Result<Value, FunctionFailure> {
        Err(trees::read_only())
    }
}
