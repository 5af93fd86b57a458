//! Arguments of an external pillar in the configuration: one value, a list by position or a map by name.

use rocksalt_core::nearest::hint;
use rocksalt_core::{Map, Value};

use super::Error;

/// Maps the arguments to their names; an unknown name is an error with a suggestion.
pub fn named(config: &Value, names: &[&str]) -> Result<Map, Error> {
    let positional = |items: &[Value]| match items.len() <= names.len() {
        true => Ok(names.iter().zip(items).map(|(name, item)| ((*name).into(), item.clone())).collect()),
        false => Err(Error::Config(format!("it takes at most {} arguments, got {}", names.len(), items.len()))),
    };
    match config {
        Value::Map(map) => {
            for key in map.keys().map(ToString::to_string) {
                if !names.contains(&key.as_str()) {
                    return Err(Error::Config(format!(
                        "it has no argument '{key}'{}",
                        hint(&key, names.iter().copied())
                    )));
                }
            }
            Ok(map.clone())
        }
        Value::List(items) => positional(items),
        Value::Null => Ok(Map::new()),
        one => positional(std::slice::from_ref(one)),
    }
}

pub fn text(arguments: &Map, name: &str) -> Result<String, Error> {
    match arguments.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Value::Null) | None => Err(Error::Config(format!("'{name}' is missing"))),
        Some(other) => Err(Error::Config(format!("'{name}' must be a string, not {}", other.kind()))),
    }
}

pub fn flag(arguments: &Map, name: &str) -> bool {
    arguments.get(name).is_some_and(Value::truth)
}
