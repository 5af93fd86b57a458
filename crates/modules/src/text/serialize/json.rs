//! JSON as Python's `json.dumps` writes it.

use rocksalt_core::{Map, Value};

use super::Error;

struct Style {
    indent: Option<String>,
    sort_keys: bool,
    ascii: bool,
    comma: String,
    colon: String,
}

/// Takes `indent`, `sort_keys`, `ensure_ascii` and `separators`.
pub fn dump(value: &Value, options: &Map) -> Result<String, Error> {
    let indent = match options.get("indent") {
        None | Some(Value::Null) => None,
        Some(Value::Int(number)) => Some(" ".repeat(usize::try_from(*number).unwrap_or(0).min(80))),
        Some(other) => Some(other.to_string()),
    };
    let separators = options.get("separators").and_then(Value::as_list);
    let separator = |index: usize| separators.and_then(|separators| separators.get(index)).map(ToString::to_string);
    let comma = if indent.is_some() { "," } else { ", " };
    let style = Style {
        sort_keys: options.get("sort_keys").is_some_and(Value::truth),
        ascii: options.get("ensure_ascii").is_some_and(Value::truth),
        comma: separator(0).unwrap_or_else(|| comma.into()),
        colon: separator(1).unwrap_or_else(|| ": ".into()),
        indent,
    };
    let mut out = String::new();
    write(value, &style, 0, &mut out)?;
    Ok(out)
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Float(number) if number.is_nan() => out.push_str("NaN"),
        Value::Float(number) if number.is_infinite() => {
            out.push_str(if *number > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => out.push_str(&value.to_string()),
        Value::String(text) => string(text, style.ascii, out),
        Value::Bytes(_) => return Err(Error::Misfit("Object of type bytes is not JSON serializable".into())),
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                begin(index, style, depth + 1, out);
                write(item, style, depth + 1, out)?;
            }
            end(']', style, depth, out);
        }
        Value::Map(map) => {
            out.push('{');
            let mut sorted = map.clone();
            if style.sort_keys {
                sorted.sort();
            }
            for (index, (key, value)) in sorted.iter().enumerate() {
                begin(index, style, depth + 1, out);
                match key {
                    Value::List(_) | Value::Map(_) | Value::Bytes(_) => {
                        return Err(Error::Misfit(format!(
                            "keys must be str, int, float, bool or None, not {}",
                            key.kind()
                        )));
                    }
                    Value::String(text) => string(text, style.ascii, out),
                    other => {
                        out.push('"');
                        write(other, style, depth, out)?;
                        out.push('"');
                    }
                }
                out.push_str(&style.colon);
                write(value, style, depth + 1, out)?;
            }
            end('}', style, depth, out);
        }
    }
    Ok(())
}

fn begin(index: usize, style: &Style, depth: usize, out: &mut String) {
    if index > 0 {
        out.push_str(&style.comma);
    }
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn end(bracket: char, style: &Style, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
    out.push(bracket);
}

fn string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            letter if (letter as u32) < 0x20 || (ascii && !letter.is_ascii()) => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}
