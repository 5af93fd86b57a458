//! JSON as Python's `json.dumps` writes it.

use crate::error::{Error, Result};
use crate::value::{Comparison, MAX_NESTING, Value, float_text};
use rocksalt_core::sort::sort_by;

#[derive(Clone, Copy, Default)]
pub(crate) struct Layout<'a> {
    pub sort_keys: bool,
    /// What each level is indented with; all on one line without it.
    pub indent: Option<&'a str>,
    pub ascii: bool,
    /// The longest text that may come up: a list may hold another one many times.
    pub limit: usize,
}

pub(crate) fn dumps(value: &Value, layout: Layout<'_>) -> Result<String> {
    let mut out = String::new();
    write(value, layout, 0, &mut out)?;
    Ok(out)
}

fn write(value: &Value, layout: Layout<'_>, depth: usize, out: &mut String) -> Result<()> {
    if depth > MAX_NESTING {
        return Err(Error::value_error("Circular reference detected"));
    }
    if out.len() > layout.limit {
        return Err(Error::limit(format!("the JSON is larger than {} bytes", layout.limit)));
    }
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::BigInt(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&float(*number)),
        Value::String(text) => string(text, layout.ascii, out),
        Value::List(items) | Value::Tuple(items) => {
            let items = items.borrow().clone();
            enclose('[', ']', items.len(), layout, depth, out, |index, out| {
                write(&items[index], layout, depth + 1, out)
            })?;
        }
        Value::Dict(dict) => {
            let mut pairs: Vec<(Value, Value)> =
                dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            if layout.sort_keys {
                sort(&mut pairs)?;
            }
            enclose('{', '}', pairs.len(), layout, depth, out, |index, out| {
                let (key, value) = &pairs[index];
                string(&key_text(key)?, layout.ascii, out);
                out.push_str(": ");
                write(value, layout, depth + 1, out)
            })?;
        }
        other => {
            return Err(Error::type_error(format!("Object of type {} is not JSON serializable", other.type_name())));
        }
    }
    Ok(())
}

fn enclose(
    open: char,
    close: char,
    length: usize,
    layout: Layout<'_>,
    depth: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<()>,
) -> Result<()> {
    let new_line = |depth: usize, out: &mut String| {
        if let Some(indent) = layout.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    out.push(open);
    for index in 0..length {
        if index > 0 {
            out.push_str(if layout.indent.is_some() { "," } else { ", " });
        }
        new_line(depth + 1, out);
        item(index, out)?;
    }
    if length > 0 {
        new_line(depth, out);
    }
    out.push(close);
    Ok(())
}

fn sort(pairs: &mut [(Value, Value)]) -> Result<()> {
    let mut failure = None;
    sort_by(pairs, |(a, _), (b, _)| {
        // As Python does it: the later one, which is `a`, is asked whether it is less.
        match a.compares(Comparison::Less, b) {
            Ok(true) => std::cmp::Ordering::Less,
            Ok(false) => match b.compares(Comparison::Less, a) {
                Ok(true) => std::cmp::Ordering::Greater,
                _ => std::cmp::Ordering::Equal,
            },
            Err(error) => {
                failure.get_or_insert(error);
                std::cmp::Ordering::Equal
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

fn key_text(key: &Value) -> Result<String> {
    Ok(match key {
        Value::String(text) => text.to_string(),
        Value::None => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Float(number) => float(*number),
        other => {
            return Err(Error::type_error(format!(
                "keys must be str, int, float, bool or None, not {}",
                other.type_name()
            )));
        }
    })
}

fn float(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.into()
    } else {
        float_text(number)
    }
}

fn string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
