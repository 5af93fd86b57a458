//! JSON in and out, with exact integers and any scalar as a key.

use serde_json::Value as Json;

use crate::value::{Map, Value};

pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Json>(text).map(from_json)
}

/// One line.
pub fn compact(value: &Value) -> String {
    to_json(value).to_string()
}

/// Indented by four, as Salt prints it.
pub fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, format);
    match serde::Serialize::serialize(&to_json(value), &mut serializer) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        // Writing plain JSON into memory can't fail; the compact form says the same.
        Err(_) => compact(value),
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

/// Keys become texts as Python's `json` does it: `true`, `null`, numbers as they print.
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
        Value::Map(map) => Json::Object(map.iter().map(|(key, value)| (key_text(key), to_json(value))).collect()),
    }
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        other => other.to_string(),
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
