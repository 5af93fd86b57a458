//! Functions that merge data.

use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::machine::System;
use crate::{Error, Result};

fn misfit(error: merge::NotMaps) -> Error {
    Error::arguments(error.to_string()).hint("both must be maps")
}

/// Merges a value into another by one of Salt's strategies, and returns the result.
///
/// ```text
/// rocksalt '*' slsutil.merge '{foo: Foo}' '{bar: Bar}'
/// rocksalt '*' slsutil.merge '{l: [1]}' '{l: [2]}' merge_lists=True
/// ```
#[function("slsutil.merge", reads)]
pub struct Merge {
    /// The value below.
    #[required]
    obj_a: Value,
    /// The value over it.
    #[required]
    obj_b: Value,
    /// `smart`, `recurse`, `overwrite`, `list` or `aggregate`.
    #[default("smart")]
    strategy: String,
    /// What `smart` goes by: `yamlex` aggregates.
    #[default("yaml")]
    renderer: String,
    /// Join lists, instead of replacing them.
    merge_lists: bool,
}

impl Function for Merge {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = Strategy::named(&self.strategy, &self.renderer);
        merge::merge(self.obj_a, self.obj_b, strategy, self.merge_lists).map_err(misfit)
    }
}

/// Merges values, each over those before it.
///
/// ```text
/// rocksalt '*' slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
/// ```
#[function("slsutil.merge_all", reads)]
pub struct MergeAll {
    /// The values.
    #[required]
    lst: Vec<Value>,
    /// `smart`, `recurse`, `overwrite`, `list` or `aggregate`.
    #[default("smart")]
    strategy: String,
    /// What `smart` goes by: `yamlex` aggregates.
    #[default("yaml")]
    renderer: String,
    /// Join lists, instead of replacing them.
    merge_lists: bool,
}

impl Function for MergeAll {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = Strategy::named(&self.strategy, &self.renderer);
        let none = Value::Map(Map::new());
        let merged = |under, over| merge::merge(under, over, strategy, self.merge_lists);
        self.lst.into_iter().try_fold(none, merged).map_err(misfit)
    }
}

/// Merges a map into another and returns the result.
///
/// ```text
/// rocksalt '*' slsutil.update '{foo: Foo}' '{bar: Bar}'
/// ```
///
/// In a template the first map itself is changed, too.
#[function("slsutil.update", reads)]
pub struct Update {
    /// The map below.
    #[required]
    dest: Value,
    /// The map over it.
    #[required]
    upd: Value,
    /// At every depth; else only the first level.
    #[default(true)]
    recursive_update: bool,
    /// Join lists, instead of replacing them.
    merge_lists: bool,
}

impl Function for Update {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let strategy = if self.recursive_update { Strategy::Recurse } else { Strategy::Overwrite };
        merge::merge(self.dest, self.upd, strategy, self.merge_lists).map_err(misfit)
    }
}
