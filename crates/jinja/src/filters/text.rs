//! Filters on text.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::format as formatting;
use crate::methods;
use crate::scope::Scope;
use crate::value::{Dict, MarkupText, Value};

/// Converts a value to text; safe text stays safe.
fn soft(value: &Value) -> Result<MarkupText> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Ok(MarkupText::new(other.to_text()?)),
    }
}

fn like(original: &MarkupText, text: String) -> Value {
    if original.is_safe() { Value::safe(text) } else { text.into() }
}

fn changed(value: &Value, arguments: FunctionArguments, change: impl Fn(&str) -> String) -> Result<Value> {
    arguments.finish()?;
    let text = soft(value)?;
    Ok(like(&text, change(&text)))
}

pub fn string(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    soft(&value).map(Value::String)
}

pub fn upper(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    changed(&value, arguments, str::to_uppercase)
}

pub fn lower(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    changed(&value, arguments, str::to_lowercase)
}

pub fn capitalize(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    changed(&value, arguments, methods::capitalize)
}

/// Capitalizes words; a word starts only after blanks, hyphens and opening brackets.
pub fn title(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let separates = |c: char| methods::is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    let mut out = String::new();
    let mut starts = true;
    for c in soft(&value)?.chars() {
        if starts {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        starts = separates(c);
    }
    // The result is assembled from pieces, so it is no longer safe.
    Ok(out.into())
}

pub fn trim(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let chars = arguments.optional("chars")?.filter(|chars| !chars.is_none());
    arguments.finish()?;
    let text = soft(&value)?;
    let trimmed = match chars {
        Some(chars) => {
            let chars: Vec<char> = chars.to_text()?.chars().collect();
            text.trim_matches(|c| chars.contains(&c)).to_owned()
        }
        None => text.trim_matches(methods::is_space).to_owned(),
    };
    Ok(like(&text, trimmed))
}

pub fn center(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let width = arguments.integer("width", 80)?;
    arguments.finish()?;
    let text = Value::String(soft(&value)?);
    match methods::find(&text, "center") {
        Some(center) => center(scope, &text, FunctionArguments::of([width.into()])),
        None => Ok(text),
    }
}

pub fn format(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let (positional, keyword) = (arguments.rest(), arguments.keywords());
    if !positional.is_empty() && !keyword.is_empty() {
        return Err(Error::filter_argument("can't handle positional and keyword arguments at the same time"));
    }
    let text = Value::String(soft(&value)?);
    if keyword.is_empty() {
        return formatting::percent(scope, &text, &Value::tuple(positional));
    }
    let mut dict = Dict::new();
    for (name, value) in keyword {
        dict.insert_str(&name, value);
    }
    formatting::percent(scope, &text, &Value::dict(dict))
}

/// The error of a filter that accepts only text.
fn no_text(value: &Value, operator: &str) -> Error {
    match value {
        Value::Undefined(undefined) => undefined.error(),
        // In Python a list would accept the added newline, and then fail for lack of `splitlines`.
        Value::List(_) => Error::exception("AttributeError", "'list' object has no attribute 'splitlines'"),
        other => {
            let kind = other.type_name();
            Error::type_error(format!("unsupported operand type(s) for {operator}: '{kind}' and 'str'"))
        }
    }
}

pub fn indent(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let width = arguments.or("width", 4)?;
    let first = arguments.flag("first", false)?;
    let blank = arguments.flag("blank", false)?;
    arguments.finish()?;
    let indention = match &width {
        Value::String(text) => text.to_string(),
        other => {
            let width = other.to_index()?.max(0) as usize;
            scope.check_size(width)?;
            " ".repeat(width)
        }
    };
    let Value::String(text) = &value else { return Err(no_text(&value, "+=")) };
    let with_end = format!("{}\n", &**text);
    let lines = methods::lines(&with_end, false);
    scope.check_size(text.len().saturating_add(lines.len().saturating_mul(indention.len())))?;
    let mut out = String::with_capacity(text.len() + lines.len() * indention.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index == 0 && first) || (index > 0 && (blank || !line.is_empty())) {
            out.push_str(&indention);
        }
        out.push_str(line);
    }
    Ok(like(text, out))
}

pub fn replace(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let old = arguments.take("old")?;
    let new = arguments.take("new")?;
    let count = match arguments.optional("count")? {
        None | Some(Value::None) => -1,
        Some(count) => count.to_index()?,
    };
    arguments.finish()?;
    if !scope.autoescape() {
        let text = value.to_text()?;
        return Ok(methods::replaced(scope, &text, &old.to_text()?, &new.to_text()?, count)?.into());
    }
    let text = soft(&value)?;
    let safe = text.is_safe() || ((old.is_safe() || new.is_safe()) && !text.is_safe());
    if !safe {
        return Ok(methods::replaced(scope, &text, &old.to_text()?, &new.to_text()?, count)?.into());
    }
    let text = super::escape::escaped(&Value::String(text))?;
    let new = super::escape::escaped(&new)?;
    Ok(Value::safe(methods::replaced(scope, &text, &old.to_text()?, &new, count)?))
}

pub fn truncate(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let length = arguments.integer("length", 255)?;
    let killwords = arguments.flag("killwords", false)?;
    let end = arguments.text("end", "...")?;
    let leeway = match arguments.optional("leeway")? {
        None | Some(Value::None) => 5,
        Some(leeway) => leeway.to_index()?,
    };
    arguments.finish()?;
    let end_length = end.chars().count() as i64;
    if length < end_length {
        let message = format!("expected length >= {end_length}, got {length}");
        return Err(Error::exception("AssertionError", message));
    }
    if leeway < 0 {
        return Err(Error::exception("AssertionError", format!("expected leeway >= 0, got {leeway}")));
    }
    let text = match &value {
        Value::String(text) => text.clone(),
        // A value that is short enough stays unchanged, whether it is text or not.
        other if (other.len()? as i64) <= length.saturating_add(leeway) => return Ok(value),
        Value::List(_) => return Err(Error::type_error("can only concatenate list (not \"str\") to list")),
        other => return Err(no_text(other, "+")),
    };
    if text.chars().count() as i64 <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let cut: String = text.chars().take((length - end_length) as usize).collect();
    let kept = if killwords { cut.as_str() } else { cut.rsplit_once(' ').map_or(cut.as_str(), |(before, _)| before) };
    Ok(like(&text, format!("{kept}{end}")))
}

pub fn wordcount(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let text = soft(&value)?;
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    Ok(words.count().into())
}
