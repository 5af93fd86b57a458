//! Reads and writes JSON, with exact integers and any scalar as a key.

mod writer;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::value::{Map, Value};

pub use writer::{JsonLayout, JsonWriter, float_literal};

pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Json>(text).map(from_json)
}

/// Writes JSON on one line.
pub fn compact(value: &Value) -> String {
    written(value, serde_json::ser::CompactFormatter)
}

/// Writes JSON indented by four spaces, as Salt prints it.
pub fn pretty(value: &Value) -> String {
    written(value, serde_json::ser::PrettyFormatter::with_indent(b"    "))
}

fn written(value: &Value, format: impl serde_json::ser::Formatter) -> String {
    let mut out = Vec::new();
    // Writing plain JSON into memory can't fail.
    let _ = Written(value).serialize(&mut serde_json::Serializer::with_formatter(&mut out, format));
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Serializes a value as JSON without a copy, since results may be large.
struct Written<'a>(&'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => to.serialize_unit(),
            Value::Bool(flag) => to.serialize_bool(*flag),
            Value::Int(number) => to.serialize_i64(*number),
            Value::String(text) => to.serialize_str(text),
            Value::List(items) => to.collect_seq(items.iter().map(Written)),
            Value::Map(map) => to.collect_map(map.iter().map(|(key, value)| (key_text(key), Written(value)))),
            Value::BigInt(_) | Value::Float(_) | Value::Bytes(_) => to_json(self.0).serialize(to),
        }
    }
}

pub fn from_json(json: Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => {
            let text = number.to_string();
            Value::integer(&text).unwrap_or_else(|| Value::Float(text.parse().unwrap_or(f64::NAN)))
        }
        Json::String(text) => Value::String(text),
        Json::Array(items) => Value::List(items.into_iter().map(from_json).collect()),
        Json::Object(pairs) => {
            Value::Map(pairs.into_iter().map(|(key, value)| (key.into(), from_json(value))).collect::<Map>())
        }
    }
}

/// Converts keys to texts as Python's `json` does: `true`, `null`, numbers as they print.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::Number((*number).into()),
        Value::BigInt(digits) => Json::Number(serde_json::Number::from_string_unchecked(digits.to_string())),
        Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(_) => Json::Number(serde_json::Number::from_string_unchecked(value.to_string())),
            None => Json::String(value.to_string()),
        },
        Value::String(text) => Json::String(text.clone()),
        Value::Bytes(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        Value::List(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(map) => {
            Json::Object(map.iter().map(|(key, value)| (key_text(key).into_owned(), to_json(value))).collect())
        }
    }
}

fn key_text(key: &Value) -> Cow<'_, str> {
    match key {
        Value::String(text) => text.into(),
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string().into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_a_round_trip() {
        let text = r#"{"a":123456789012345678901234567890,"b":-1,"c":1.5,"d":[null,true]}"#;
        assert_eq!(compact(&parse(text).expect("it is JSON")), text);
    }

    #[test]
    fn any_scalar_is_a_key() {
        let map: Map = [(Value::Int(1), Value::Null), (Value::Bool(true), Value::Null), (Value::Null, Value::Null)]
            .into_iter()
            .collect();
        assert_eq!(compact(&map.into()), r#"{"1":null,"true":null,"null":null}"#);
    }
}
