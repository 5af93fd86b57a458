//! Prints a value in `{{ … }}` as Salt does: strings inside a dict are quoted so that YAML reads them again.

use crate::error::{Error, Result};
use crate::value::{MAX_NESTING, Value, quoted};
use rocksalt_core::yaml::written::double_quoted;

/// Prints a value like `str()`, but writes a string with a line break or a tab that is directly in a dict in double
/// quotes: Python would use single quotes, in which YAML has no `
/// `.
pub(crate) fn write(value: &Value, out: &mut String, limit: usize) -> Result<()> {
    match value {
        Value::Dict(_) | Value::List(_) | Value::Tuple(_) => nested(value, out, limit, 0),
        other => other.write_text(out),
    }
}

fn nested(value: &Value, out: &mut String, limit: usize, depth: usize) -> Result<()> {
    if depth > MAX_NESTING {
        return Err(Error::new(
            crate::error::ErrorKind::Limit,
            "RecursionError",
            "maximum recursion depth exceeded while calling a Python object",
        ));
    }
    if out.len() > limit {
        return Err(Error::limit(format!("the output is larger than {limit} bytes")));
    }
    match value {
        Value::Dict(dict) => {
            let dict = dict.borrow().clone();
            out.push('{');
            for (index, (key, value)) in dict.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&key.repr()?);
                out.push_str(": ");
                match value {
                    Value::String(text) if text.contains(['\n', '\r', '\t']) => {
                        out.push_str(&double_quoted(text, true))
                    }
                    Value::String(text) if !text.is_safe() => out.push_str(&quoted(text)),
                    Value::Undefined(_) => value.write_text(out)?,
                    other => nested(other, out, limit, depth + 1)?,
                }
            }
            out.push('}');
        }
        Value::List(items) => {
            let items = items.borrow().clone();
            out.push('[');
            sequence(&items, out, limit, depth)?;
            out.push(']');
        }
        Value::Tuple(items) => {
            let items = items.borrow().clone();
            out.push('(');
            sequence(&items, out, limit, depth)?;
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        Value::Undefined(_) => out.push_str("Undefined"),
        other => out.push_str(&other.repr()?),
    }
    Ok(())
}

fn sequence(items: &[Value], out: &mut String, limit: usize, depth: usize) -> Result<()> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        nested(item, out, limit, depth + 1)?;
    }
    Ok(())
}
