//! JSON as Python's `json.dumps` writes it.

use crate::error::{Error, Result};
use crate::value::{Comparison, MAX_NESTING, Value, float_text};
use rocksalt_core::json::{JsonLayout, JsonWriter, float_literal};
use rocksalt_core::sort::sort_by;

#[derive(Clone, Copy, Default)]
pub(crate) struct DumpsOptions<'a> {
    pub sort_keys: bool,
    /// The indentation of each level; `None` writes everything on one line.
    pub indent: Option<&'a str>,
    pub ascii: bool,
    /// The largest number of bytes to write: a list may hold another one many times.
    pub limit: usize,
}

pub(crate) fn dumps(value: &Value, options: DumpsOptions<'_>) -> Result<String> {
    let layout = JsonLayout::new(options.indent.map(str::to_owned), options.ascii);
    let mut writer = JsonWriter::new(layout);
    write(value, options, 0, &mut writer)?;
    Ok(writer.finish())
}

fn write(value: &Value, options: DumpsOptions<'_>, depth: usize, out: &mut JsonWriter) -> Result<()> {
    if depth > MAX_NESTING {
        return Err(Error::value_error("Circular reference detected"));
    }
    if out.len() > options.limit {
        return Err(Error::limit(format!("the JSON is larger than {} bytes", options.limit)));
    }
    match value {
        Value::None => out.literal("null"),
        Value::Bool(flag) => out.literal(if *flag { "true" } else { "false" }),
        Value::Int(number) => out.literal(&number.to_string()),
        Value::BigInt(number) => out.literal(&number.to_string()),
        Value::Float(number) => out.literal(&float(*number)),
        Value::String(text) => out.string(text),
        Value::List(items) | Value::Tuple(items) => {
            let items = items.borrow().clone();
            out.begin('[');
            for (index, item) in items.iter().enumerate() {
                out.item(index);
                write(item, options, depth + 1, out)?;
            }
            out.end(']', items.len());
        }
        Value::Dict(dict) => {
            let mut pairs: Vec<(Value, Value)> =
                dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            if options.sort_keys {
                sort(&mut pairs)?;
            }
            out.begin('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                out.item(index);
                out.key(&key_text(key)?);
                write(value, options, depth + 1, out)?;
            }
            out.end('}', pairs.len());
        }
        other => {
            return Err(Error::type_error(format!("Object of type {} is not JSON serializable", other.type_name())));
        }
    }
    Ok(())
}

fn sort(pairs: &mut [(Value, Value)]) -> Result<()> {
    let mut failure = None;
    sort_by(pairs, |(a, _), (b, _)| {
        // As in Python, the later item, which is `a`, is the left operand.
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
    float_literal(number, || float_text(number))
}
