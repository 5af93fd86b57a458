//! A plan as text: JSON, in which bytes that are not UTF-8 are `{"!binary": "…"}`, encoded in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocksalt_core::{Map, Value, json};

use super::Plan;
use crate::{Error, Result};

const BINARY: &str = "!binary";

impl Plan {
    /// The plan as JSON, which [`Plan::from_json`] reads. Equal plans have equal texts.
    pub fn to_json(&self) -> Result<String> {
        Ok(json::compact(&printable(self.to_value()?)))
    }

    pub fn from_json(text: &str) -> Result<Plan> {
        let value = json::parse(text).map_err(|error| Error::failed(format!("that is no plan: {error}")))?;
        Plan::from_value(stored(value))
    }
}

fn printable(value: Value) -> Value {
    match value {
        Value::Bytes(bytes) => Map::from_iter([(BINARY.into(), STANDARD.encode(bytes).into())]).into(),
        other => each(other, printable),
    }
}

fn stored(value: Value) -> Value {
    let encoded = value.as_map().filter(|map| map.len() == 1).and_then(|map| map.get(BINARY)?.as_str());
    match encoded.and_then(|text| STANDARD.decode(text).ok()) {
        Some(bytes) => Value::Bytes(bytes),
        None => each(value, stored),
    }
}

fn each(value: Value, with: fn(Value) -> Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(with).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, value)| (key, with(value))).collect()),
        other => other,
    }
}
