//! `defaults`: the default values of a formula, for keys that the pillar lacks.

use rocksalt_core::{Map, Value, json, merge, yaml};
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<Deepcopy>(), entry::<Get>(), entry::<Merge>(), entry::<Update>()];

/// A value of a formula's `defaults.yaml` or `defaults.json`.
///
/// ```text
/// rocksalt '*' defaults.get core:users:root
/// ```
///
/// The first part of the path is the formula's directory: the example reads `salt://core/defaults.yaml`.
#[function("defaults.get", reads)]
pub struct Get {
    /// The path; without a colon all of the defaults are meant.
    key: String,
    /// The value to return if there is none.
    default: Option<Value>,
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let (formula, path) = match self.key.split_once(':') {
            Some((formula, path)) => (formula, Some(path)),
            None => (self.key.as_str(), None),
        };
        let defaults = load(machine, formula)?;
        Ok(match path.filter(|path| !path.is_empty()) {
            None => defaults,
            Some(path) => match defaults.walk(path, ":") {
                Some(found) => found.clone(),
                None => self.default.unwrap_or_else(|| "".into()),
            },
        })
    }
}

/// The first existing one of the two files; null if there is none.
fn load(machine: &dyn System, formula: &str) -> Result<Value> {
    let tree = machine.tree();
    let saltenv = machine.options().get("saltenv").and_then(Value::as_str).unwrap_or("base");
    for extension in ["yaml", "json"] {
        let path = format!("{}/defaults.{extension}", formula.trim_matches('/'));
        let Some(content) = tree.read(saltenv, &path)? else { continue };
        let text = String::from_utf8_lossy(&content);
        let failed = |why: String| Error::failed(format!("could not read salt://{path}: {why}"));
        let value = match extension {
            "yaml" => yaml::parse(&text).map_err(|error| failed(error.to_string()))?,
            _ => json::parse(&text).map_err(|error| failed(error.to_string()))?,
        };
        return Ok(if value.truth() { value } else { Value::Map(Map::new()) });
    }
    Ok(Value::Null)
}

/// Merges a map into another, at every depth, and returns the result.
///
/// ```text
/// rocksalt '*' defaults.merge '{a: b}' '{d: e}'
/// ```
///
/// In a template the first map itself is changed, too, unless `in_place` is false.
#[function("defaults.merge", reads)]
pub struct Merge {
    /// The map below.
    #[required]
    dest: Value,
    /// The map over it.
    #[required]
    src: Value,
    /// Join lists, instead of replacing them.
    merge_lists: bool,
    /// Change the first map.
    #[default(true)]
    in_place: bool,
    /// Treat a null as an empty map.
    #[default(true)]
    convert_none: bool,
}

impl Function for Merge {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        if self.dest.is_null() && self.convert_none && self.in_place {
            return Err(Error::arguments("Can't perform in-place merge into NoneType"));
        }
        merged(self.dest, self.src, self.merge_lists, self.convert_none)
    }
}

fn merged(under: Value, over: Value, merge_lists: bool, convert: bool) -> Result<Value> {
    let map = |value| match value {
        Value::Map(map) => Ok(map),
        Value::Null if convert => Ok(Map::new()),
        _ => Err(Error::arguments(merge::NotMaps.to_string())),
    };
    let mut whole = map(under)?;
    merge::update(&mut whole, map(over)?, merge_lists);
    Ok(Value::Map(whole))
}

/// Merges each entry of a group into the same defaults, and returns the group.
///
/// ```text
/// rocksalt '*' defaults.update '{host1: {port: 80}}' '{port: 8080, user: www}'
/// ```
///
/// In a template the group itself is changed, too, unless `in_place` is false.
#[function("defaults.update", reads)]
pub struct Update {
    /// The group: a map of maps.
    #[required]
    dest: Value,
    /// What each of them has unless it says otherwise.
    #[required]
    defaults: Value,
    /// Join lists, instead of replacing them.
    #[default(true)]
    merge_lists: bool,
    /// Change the group.
    #[default(true)]
    in_place: bool,
    /// Treat a null as an empty map.
    #[default(true)]
    convert_none: bool,
}

impl Function for Update {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        let group = match self.dest {
            Value::Map(group) => group,
            Value::Null if self.in_place => {
                return Err(Error::arguments("Can't perform in-place update into NoneType"));
            }
            Value::Null if self.convert_none => Map::new(),
            other => return Err(Error::arguments(format!("dest: expected a map of maps, found {}", other.kind()))),
        };
        let updated = group.into_iter().map(|(name, entry)| {
            Ok((name, merged(self.defaults.clone(), entry, self.merge_lists, self.convert_none)?))
        });
        updated.collect::<Result<Map>>().map(Value::Map)
    }
}

/// A deep copy of a value.
///
/// ```text
/// rocksalt '*' defaults.deepcopy '{a: [1, 2]}'
/// ```
#[function("defaults.deepcopy", reads)]
pub struct Deepcopy {
    /// The value.
    #[required]
    source: Value,
}

impl Function for Deepcopy {
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(self.source)
    }
}
