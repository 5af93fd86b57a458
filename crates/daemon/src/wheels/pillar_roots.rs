//! `pillar_roots`: the files of the pillar, to look at. Nothing here writes to them (rule R17).

use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::trees;
use crate::functions::{Context, Entry, Failure, Function, Mark, entry};

pub const FUNCTIONS: &[Entry] =
    &[entry::<Find>(), entry::<ListEnv>(), entry::<ListRoots>(), entry::<Read>(), entry::<Write>()];

/// Where a file is found: its environment and its path.
#[derive(Deserialize, JsonSchema)]
pub struct Find {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl Function for Find {
    const NAME: &'static str = "pillar_roots.find";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        trees::find(&*context.loaded.controller.pillar.files, &self.saltenv, &self.path).await
    }
}

/// All files of an environment, as a tree of maps.
#[derive(Deserialize, JsonSchema)]
pub struct ListEnv {
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl Function for ListEnv {
    const NAME: &'static str = "pillar_roots.list_env";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        trees::list(&*context.loaded.controller.pillar.files, &self.saltenv).await
    }
}

/// All files of all environments, as trees of maps.
#[derive(Deserialize, JsonSchema)]
pub struct ListRoots {}

impl Function for ListRoots {
    const NAME: &'static str = "pillar_roots.list_roots";
    const MARK: Mark = Mark::Looks;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        let mut all = Map::new();
        for environment in context.loaded.controller.pillar.files.environments() {
            let tree = trees::list(&*context.loaded.controller.pillar.files, &environment).await?;
            all.insert(environment, vec![tree]);
        }
        Ok(all.into())
    }
}

/// What is in a file.
#[derive(Deserialize, JsonSchema)]
pub struct Read {
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
}

impl Function for Read {
    const NAME: &'static str = "pillar_roots.read";
    const MARK: Mark = Mark::Private;

    async fn call(self, context: Context) -> Result<Value, Failure> {
        trees::read(&*context.loaded.controller.pillar.files, &self.saltenv, &self.path).await
    }
}

/// Would write a file. A failure: the tree is changed where it is kept, not through here.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it can't be done")]
pub struct Write {
    /// What to write.
    data: Value,
    /// Its path below the root.
    path: String,
    /// The environment.
    #[serde(default = "trees::base")]
    saltenv: String,
    /// Which of its directories.
    #[serde(default)]
    index: Value,
}

impl Function for Write {
    const NAME: &'static str = "pillar_roots.write";

    async fn call(self, _: Context) -> Result<Value, Failure> {
        Err(trees::read_only())
    }
}
