//! Escaping for HTML: `escape`, `forceescape` and `safe`.

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::Value;

/// Replaces `&`, `<`, `>`, `"` and `'` by entities.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_escaped(text, &mut out);
    out
}

fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// Appends a value's text, escaped unless it is safe.
pub fn write_escaped(value: &Value, out: &mut String) -> Result<()> {
    match value {
        Value::String(text) if text.is_safe() => out.push_str(text),
        Value::String(text) => push_escaped(text, out),
        other => push_escaped(&other.to_text()?, out),
    }
    Ok(())
}

pub fn escaped(value: &Value) -> Result<String> {
    let mut out = String::new();
    write_escaped(value, &mut out)?;
    Ok(out)
}

pub fn escape_filter(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(Value::safe(escaped(&value)?))
}

pub fn forceescape(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(Value::safe(escape(&value.to_text()?)))
}

pub fn safe(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(match &value {
        Value::String(text) => Value::String(text.marked(true)),
        other => Value::safe(other.to_text()?),
    })
}
