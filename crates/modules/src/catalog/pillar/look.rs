//! Single values of the pillar.

use std::path::Path;

use rocksalt_core::{Map, Value, merge};
use rocksalt_macros::function;

use super::{Function, colon, empty, pillar};
use crate::catalog::grains::filter;
use crate::machine::{FileKind, System};
use crate::{Error, Result};

/// The value at a path of the pillar.
///
/// ```text
/// rocksalt '*' pillar.get pkg:apache
/// rocksalt '*' pillar.get abc::def|ghi delimiter='|'
/// rocksalt '*' pillar.get nginx:settings default='{workers: 4}' merge=True
/// ```
///
/// Colons lead into maps; a number is a place in a list. A value that is there but empty is given
/// as it is: the default is only for what isn't there.
#[function("pillar.get", reads, repeatable, also("pillar.fetch"))]
pub struct Get {
    /// The path.
    #[required]
    key: Value,
    /// What to give if there is none; else it is an empty text, or a failure if the option
    /// `pillar_raise_on_missing` is set.
    #[default(unset())]
    default: Value,
    /// Put the pillar's value over the default: maps at every depth, and what a list doesn't have is appended.
    merge: bool,
    /// Whether lists inside of merged maps are joined; else the option `pillar_merge_lists` says so.
    merge_nested_lists: Option<bool>,
    /// What stands between the parts of the path.
    #[default(colon())]
    delimiter: String,
    /// Compile the pillar for this environment first.
    pillarenv: Option<String>,
    /// Compile the pillar for states of this environment first.
    saltenv: Option<String>,
    /// Accepted and ignored: values are given as they are.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    unmask: Value,
}

/// Salt's marker for an argument that wasn't given: null is a valid value.
const UNSET: &str = "__unset__";

fn unset() -> Value {
    UNSET.into()
}

impl Function for Get {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let pillar = pillar(machine, self.saltenv.as_deref(), self.pillarenv.as_deref(), Map::new())?;
        let found = at(&pillar, &self.key, &self.delimiter);
        let option = |name: &str| machine.options().get(name).is_some_and(Value::truth);
        if self.merge {
            // Values of different types aren't merged.
            match (&self.default, found) {
                (Value::Map(_) | Value::List(_), None) => return Ok(self.default),
                (Value::Map(default), Some(Value::Map(found))) => {
                    let lists = self.merge_nested_lists.unwrap_or_else(|| option("pillar_merge_lists"));
                    let mut merged = default.clone();
                    merge::update(&mut merged, found.clone(), lists);
                    return Ok(Value::Map(merged));
                }
                (Value::List(default), Some(Value::List(found))) => {
                    let mut merged = default.clone();
                    merge::join(&mut merged, found.clone());
                    return Ok(Value::List(merged));
                }
                _ => {}
            }
        }
        match found {
            Some(found) => Ok(found.clone()),
            None if self.default.as_str() != Some(UNSET) => Ok(self.default),
            None if option("pillar_raise_on_missing") => Err(missing(&self.key)),
            None => Ok(empty()),
        }
    }
}

/// The value at a path: a text, a list of keys, or a single key that isn't text.
fn at<'a>(pillar: &'a Map, key: &Value, delimiter: &str) -> Option<&'a Value> {
    match key {
        Value::String(path) => pillar.walk(path, delimiter),
        Value::List(steps) => {
            let (first, rest) = steps.split_first()?;
            let first = pillar.get_value(first).or_else(|| pillar.walk(&first.to_string(), ""))?;
            rest.iter().try_fold(first, |value, step| value.walk(&step.to_string(), ""))
        }
        other => pillar.get_value(other),
    }
}

fn missing(key: &Value) -> Error {
    Error::failed(format!("Pillar key not found: {key}"))
}

/// Values of the pillar, each under its path; an unknown one is empty.
///
/// ```text
/// rocksalt '*' pillar.item foo bar:baz
/// rocksalt '*' pillar.item foo/bar delimiter=/
/// ```
#[function("pillar.item", reads, repeatable)]
pub struct Item {
    /// Paths into the pillar.
    args: Vec<String>,
    /// The value to return for unknown ones.
    default: Value,
    /// What stands between the parts of a path.
    delimiter: Option<String>,
    /// Compile the pillar for this environment first.
    pillarenv: Option<String>,
    /// Compile the pillar for states of this environment first.
    saltenv: Option<String>,
    /// Accepted and ignored: values are given as they are.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    unmask: Value,
}

impl Function for Item {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let pillar = pillar(machine, self.saltenv.as_deref(), self.pillarenv.as_deref(), Map::new())?;
        let delimiter = self.delimiter.as_deref().unwrap_or(":");
        let default = if self.default.is_null() { empty() } else { self.default };
        Ok(items(&pillar, self.args, delimiter, &default))
    }
}

/// Each value by its path.
pub fn items(pillar: &Map, paths: Vec<String>, delimiter: &str, default: &Value) -> Map {
    let found = paths.into_iter().map(|path| {
        let value = pillar.walk(&path, delimiter).unwrap_or(default).clone();
        (path.into(), value)
    });
    found.collect()
}

/// The pillar as it is in memory: all of it, or one key.
///
/// ```text
/// rocksalt '*' pillar.raw
/// rocksalt '*' pillar.raw key=roles
/// ```
#[function("pillar.raw", reads, repeatable)]
pub struct Raw {
    /// The key; colons mean nothing here. An unknown one is an empty map.
    key: Value,
    /// Accepted and ignored: values are given as they are.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    unmask: Value,
}

impl Function for Raw {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let pillar = machine.pillar()?;
        Ok(match self.key.truth() {
            true => pillar.get_value(&self.key).cloned().unwrap_or_else(|| Value::Map(Map::new())),
            false => Value::Map((*pillar).clone()),
        })
    }
}

/// The keys of a map of the pillar.
///
/// ```text
/// rocksalt '*' pillar.keys web:sites
/// ```
#[function("pillar.keys", reads, repeatable)]
pub struct Keys {
    /// The path.
    #[required]
    key: Value,
    /// What stands between the parts of the path.
    #[default(colon())]
    delimiter: String,
    /// Accepted and ignored: values are given as they are.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    unmask: Value,
}

impl Function for Keys {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let pillar = machine.pillar()?;
        match at(&pillar, &self.key, &self.delimiter) {
            Some(Value::Map(map)) => Ok(map.keys().cloned().collect()),
            Some(_) => Err(Error::failed(format!("Pillar value in key {} is not a dict", self.key))),
            None => Err(missing(&self.key)),
        }
    }
}

/// Whether a file is in the pillar's directories; for targets that have them, such as the controller itself.
///
/// ```text
/// rocksalt '*' pillar.file_exists foo/bar.sls
/// ```
#[function("pillar.file_exists", reads, repeatable)]
pub struct FileExists {
    /// The file, below one of the directories.
    path: String,
    /// Only look in directories of this environment.
    saltenv: Option<String>,
}

impl Function for FileExists {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Some(roots) = machine.options().get("pillar_roots").and_then(Value::as_map).filter(|map| !map.is_empty())
        else {
            return Err(Error::failed("No pillar_roots found. Are you running this on the master?")
                .hint("targets only see their own pillar: `pillar.get` says what is in it"));
        };
        let wanted = self.saltenv.as_deref().filter(|name| !name.is_empty());
        let here = roots.iter().filter(|(name, _)| wanted.is_none_or(|wanted| name.as_str() == Some(wanted)));
        let directories = here.flat_map(|(_, directories)| directories.as_list().unwrap_or_default());
        let is_file = |directory: &Value| {
            let path = Path::new(&directory.to_string()).join(&self.path);
            matches!(machine.stat(&path, true), Ok(Some(stat)) if stat.kind == FileKind::File)
        };
        Ok(directories.into_iter().any(is_file))
    }
}

/// Selects the entry of a table that matches a pillar value, and merges others with it.
///
/// ```text
/// rocksalt '*' pillar.filter_by '{web: {port: 80}, db: {port: 5432}}' role
/// ```
#[function("pillar.filter_by", reads, repeatable)]
pub struct FilterBy {
    /// The table; its keys may be patterns such as `web*`.
    #[required]
    lookup_dict: Map,
    /// The path of the value that is looked for. Of a list, the first item that fits counts.
    #[secret]
    pillar: String,
    /// A map that is merged over the entry.
    merge: Value,
    /// The key of the entry that is used if none matches.
    #[default("default")]
    default: Value,
    /// The key of an entry that the found one is merged over.
    base: Value,
}

impl Function for FilterBy {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let pillar = machine.pillar()?;
        let nothing = Value::List(Vec::new());
        let wanted = pillar.walk(&self.pillar, ":").unwrap_or(&nothing);
        filter::filter_by(self.lookup_dict, wanted, self.merge, &self.default, &self.base)
    }
}
