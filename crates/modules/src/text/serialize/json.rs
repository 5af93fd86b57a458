//! JSON as in Python's `json.dumps`.

use rocksalt_core::json::{JsonLayout, JsonWriter, float_literal};
use rocksalt_core::{Map, Value};

use super::Error;

/// Supports `indent`, `sort_keys`, `ensure_ascii` and `separators`.
pub fn dump(value: &Value, options: &Map) -> Result<String, Error> {
    let indent = match options.get("indent") {
        None | Some(Value::Null) => None,
        Some(Value::Int(number)) => Some(" ".repeat(usize::try_from(*number).unwrap_or(0).min(80))),
        Some(other) => Some(other.to_string()),
    };
    let separators = options.get("separators").and_then(Value::as_list);
    let separator = |index: usize| separators.and_then(|separators| separators.get(index)).map(ToString::to_string);
    let is_set = |name: &str| options.get(name).is_some_and(Value::truth);
    let layout = JsonLayout::new(indent, is_set("ensure_ascii")).separators(separator(0), separator(1));
    let mut writer = JsonWriter::new(layout);
    write(value, is_set("sort_keys"), &mut writer)?;
    Ok(writer.finish())
}

fn write(value: &Value, sort_keys: bool, out: &mut JsonWriter) -> Result<(), Error> {
    match value {
        Value::String(text) => out.string(text),
        Value::Bytes(_) => return Err(Error::Misfit("Object of type bytes is not JSON serializable".into())),
        Value::List(items) => {
            out.begin('[');
            for (index, item) in items.iter().enumerate() {
                out.item(index);
                write(item, sort_keys, out)?;
            }
            out.end(']', items.len());
        }
        Value::Map(map) => {
            out.begin('{');
            let mut sorted = map.clone();
            if sort_keys {
                sorted.sort();
            }
            for (index, (key, value)) in sorted.iter().enumerate() {
                out.item(index);
                out.key(&key_text(key)?);
                write(value, sort_keys, out)?;
            }
            out.end('}', map.len());
        }
        scalar => out.literal(&literal(scalar)),
    }
    Ok(())
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key {
        Value::List(_) | Value::Map(_) | Value::Bytes(_) => {
            Err(Error::Misfit(format!("keys must be str, int, float, bool or None, not {}", key.kind())))
        }
        Value::String(text) => Ok(text.clone()),
        scalar => Ok(literal(scalar)),
    }
}

fn literal(scalar: &Value) -> String {
    match scalar {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Float(number) => float_literal(*number, || scalar.to_string()),
        other => other.to_string(),
    }
}
