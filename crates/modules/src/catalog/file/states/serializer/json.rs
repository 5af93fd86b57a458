//! JSON as Python's `json` writes it.

use rocksalt_core::{Map, Value, json};

use super::{Serializer, pairs};

pub struct Json;

impl Serializer for Json {
    fn write(&self, data: &Value, options: &Map) -> Result<String, String> {
        let indent = match options.get("indent") {
            Some(Value::Int(width)) => Some(" ".repeat(usize::try_from(*width).unwrap_or(0).min(64))),
            Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            _ => Some("  ".to_owned()),
        };
        let separators = options.get("separators").and_then(Value::as_list).unwrap_or_default();
        let separator = |index: usize, usual: &str| separators.get(index).map_or(usual.to_owned(), ToString::to_string);
        let style = Style {
            comma: separator(0, ","),
            colon: separator(1, ": "),
            indent,
            sorted: options.get("sort_keys").is_none_or(Value::truth),
            ascii: options.get("ensure_ascii").is_some_and(Value::truth),
        };
        let mut out = String::new();
        style.value(data, 0, &mut out);
        Ok(out)
    }

    fn read(&self, text: &str) -> Option<Result<Value, String>> {
        Some(json::parse(text).map_err(|error| error.to_string()))
    }
}

struct Style {
    comma: String,
    colon: String,
    indent: Option<String>,
    sorted: bool,
    ascii: bool,
}

impl Style {
    fn value(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::List(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.next(index, depth + 1, out);
                    self.value(item, depth + 1, out);
                }
                self.line(depth, out);
                out.push(']');
            }
            Value::Map(map) if !map.is_empty() => {
                out.push('{');
                for (index, (key, item)) in pairs(map, self.sorted).into_iter().enumerate() {
                    self.next(index, depth + 1, out);
                    self.text(&key_text(key), out);
                    out.push_str(&self.colon);
                    self.value(item, depth + 1, out);
                }
                self.line(depth, out);
                out.push('}');
            }
            Value::String(text) => self.text(text, out),
            other => out.push_str(&json::compact(other)),
        }
    }

    fn next(&self, index: usize, depth: usize, out: &mut String) {
        if index > 0 {
            out.push_str(&self.comma);
        }
        self.line(depth, out);
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    }

    fn text(&self, text: &str, out: &mut String) {
        let plain = json::compact(&Value::from(text));
        if !self.ascii {
            return out.push_str(&plain);
        }
        for letter in plain.chars() {
            match letter.is_ascii() {
                true => out.push(letter),
                false => {
                    letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
                }
            }
        }
    }
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        other => other.to_string(),
    }
}
