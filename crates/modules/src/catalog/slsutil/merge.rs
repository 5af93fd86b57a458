//! Two pieces of data into one.

use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::Function;
use crate::machine::System;
use crate::{Error, Result};

fn smart() -> String {
    "smart".into()
}

fn yaml() -> String {
    "yaml".into()
}

fn yes() -> bool {
    true
}

fn misfit(error: merge::NotMaps) -> Error {
    Error::arguments(error.to_string()).hint("both must be maps")
}

/// Puts a value over another by one of Salt's strategies, and gives the whole.
///
/// ```text
/// rocksalt '*' slsutil.merge '{foo: Foo}' '{bar: Bar}'
/// rocksalt '*' slsutil.merge '{l: [1]}' '{l: [2]}' merge_lists=True
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Merge {
    /// The value below.
    obj_a: Value,
    /// The value over it.
    obj_b: Value,
    /// `smart`, `recurse`, `overwrite`, `list` or `aggregate`.
    #[serde(default = "smart")]
    strategy: String,
    /// What `smart` goes by: `yamlex` aggregates.
    #[serde(default = "yaml")]
    renderer: String,
    /// Join lists, instead of replacing them.
    #[serde(default)]
    merge_lists: bool,
}

impl Function for Merge {
    const NAME: &'static str = "slsutil.merge";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = Strategy::named(&self.strategy, &self.renderer);
        merge::merge(self.obj_a, self.obj_b, strategy, self.merge_lists).map_err(misfit)
    }
}

/// Puts values over each other, in their order.
///
/// ```text
/// rocksalt '*' slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct MergeAll {
    /// The values.
    lst: Vec<Value>,
    /// `smart`, `recurse`, `overwrite`, `list` or `aggregate`.
    #[serde(default = "smart")]
    strategy: String,
    /// What `smart` goes by: `yamlex` aggregates.
    #[serde(default = "yaml")]
    renderer: String,
    /// Join lists, instead of replacing them.
    #[serde(default)]
    merge_lists: bool,
}

impl Function for MergeAll {
    const NAME: &'static str = "slsutil.merge_all";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = Strategy::named(&self.strategy, &self.renderer);
        let none = Value::Map(Map::new());
        let merged = |under, over| merge::merge(under, over, strategy, self.merge_lists);
        self.lst.into_iter().try_fold(none, merged).map_err(misfit)
    }
}

/// Puts a map over another and gives the whole.
///
/// ```text
/// rocksalt '*' slsutil.update '{foo: Foo}' '{bar: Bar}'
/// ```
///
/// In a template the first map itself is changed, too.
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Update {
    /// The map below.
    dest: Value,
    /// The map over it.
    upd: Value,
    /// At every depth; else only the first level.
    #[serde(default = "yes")]
    recursive_update: bool,
    /// Join lists, instead of replacing them.
    #[serde(default)]
    merge_lists: bool,
}

impl Function for Update {
    const NAME: &'static str = "slsutil.update";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = if self.recursive_update { Strategy::Recurse } else { Strategy::Overwrite };
        merge::merge(self.dest, self.upd, strategy, self.merge_lists).map_err(misfit)
    }
}
