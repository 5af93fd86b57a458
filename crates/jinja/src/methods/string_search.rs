//! Methods of strings that search in them.

use super::MethodFunction;
use super::string::{is_space, like, own, string};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Slice, Value};

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "count" => count,
        "endswith" => |_, value, arguments| affix(value, arguments, false),
        "find" => |_, value, arguments| search(value, arguments, false, false),
        "index" => |_, value, arguments| search(value, arguments, false, true),
        "partition" => |_, value, arguments| partition(value, arguments, false),
        "rfind" => |_, value, arguments| search(value, arguments, true, false),
        "rindex" => |_, value, arguments| search(value, arguments, true, true),
        "rpartition" => |_, value, arguments| partition(value, arguments, true),
        "rsplit" => |scope, value, arguments| split(scope, value, arguments, true),
        "split" => |scope, value, arguments| split(scope, value, arguments, false),
        "splitlines" => split_lines,
        "startswith" => |_, value, arguments| affix(value, arguments, true),
        _ => return None,
    })
}

/// The part of the text between `start` and `end`, and the number of characters before it.
fn part(value: &Value, arguments: &mut FunctionArguments) -> Result<(String, usize, bool)> {
    let mut bound = |name: &str| -> Result<Option<i64>> {
        match arguments.optional(name)? {
            None | Some(Value::None) => Ok(None),
            Some(other) => other.to_index().map(Some),
        }
    };
    let slice = Slice { start: bound("start")?, stop: bound("end")?, step: None };
    let text = own(value);
    if slice.start.is_none() && slice.stop.is_none() {
        return Ok((text.to_owned(), 0, true));
    }
    let length = text.chars().count();
    let start = slice.start.unwrap_or(0);
    let start = if start < 0 { start.saturating_add(length as i64).max(0) } else { start };
    let indexes = slice.indexes(length)?;
    let valid = start as usize <= length;
    Ok((crate::value::code_points(text, &indexes), (start as usize).min(length), valid))
}

fn count(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let sub = string(&arguments.take("sub")?, "")?;
    let (text, _, _) = part(value, &mut arguments)?;
    arguments.finish()?;
    Ok(text.matches(sub.as_str()).count().into())
}

fn search(value: &Value, mut arguments: FunctionArguments, from_right: bool, must: bool) -> Result<Value> {
    let sub = string(&arguments.take("sub")?, "")?;
    let (text, before, valid) = part(value, &mut arguments)?;
    arguments.finish()?;
    let found = if from_right { text.rfind(&sub) } else { text.find(&sub) };
    match found.filter(|_| valid) {
        Some(at) => Ok((before + text[..at].chars().count()).into()),
        None if must => Err(Error::value_error("substring not found")),
        None => Ok(Value::Int(-1)),
    }
}

fn affix(value: &Value, mut arguments: FunctionArguments, start: bool) -> Result<Value> {
    let name = if start { "startswith" } else { "endswith" };
    let affix = arguments.take("prefix")?;
    let (text, _, valid) = part(value, &mut arguments)?;
    arguments.finish()?;
    let affixes = match &affix {
        Value::String(_) => vec![affix.clone()],
        Value::Tuple(items) => items.borrow().clone(),
        other => {
            other.must_be_defined()?;
            return Err(Error::type_error(format!(
                "{name} first arg must be str or a tuple of str, not {}",
                other.type_name()
            )));
        }
    };
    for affix in affixes {
        let affix = string(&affix, &format!("tuple for {name}"))?;
        if valid && (if start { text.starts_with(&affix) } else { text.ends_with(&affix) }) {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn partition(value: &Value, mut arguments: FunctionArguments, from_right: bool) -> Result<Value> {
    let separator = string(&arguments.take("sep")?, "argument")?;
    arguments.finish()?;
    if separator.is_empty() {
        return Err(Error::value_error("empty separator"));
    }
    let text = own(value);
    let found = if from_right { text.rsplit_once(&separator) } else { text.split_once(&separator) };
    let (before, middle, after) = match found {
        Some((before, after)) => (before, separator.as_str(), after),
        None if from_right => ("", "", text),
        None => (text, "", ""),
    };
    Ok(Value::tuple([before, middle, after].map(|part| like(value, part.to_owned())).to_vec()))
}

fn split(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments, from_right: bool) -> Result<Value> {
    let separator = arguments.optional("sep")?.filter(|separator| !separator.is_none());
    let most = arguments.integer("maxsplit", -1)?;
    arguments.finish()?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let text = own(value);
    let mut parts: Vec<&str> = Vec::new();
    match &separator {
        Some(separator) => {
            let Value::String(separator) = separator else {
                separator.must_be_defined()?;
                return Err(Error::type_error(format!("must be str or None, not {}", separator.type_name())));
            };
            if separator.is_empty() {
                return Err(Error::value_error("empty separator"));
            }
            if from_right {
                parts.extend(text.rsplitn(most.saturating_add(1), &**separator));
                parts.reverse();
            } else {
                parts.extend(text.splitn(most.saturating_add(1), &**separator));
            }
        }
        None if from_right => {
            let mut rest = text.trim_end_matches(is_space);
            while !rest.is_empty() {
                if parts.len() == most {
                    parts.push(rest);
                    break;
                }
                let word =
                    rest.rfind(is_space).map_or(0, |at| at + rest[at..].chars().next().map_or(1, char::len_utf8));
                parts.push(&rest[word..]);
                rest = rest[..word].trim_end_matches(is_space);
            }
            parts.reverse();
        }
        None => {
            let mut rest = text.trim_start_matches(is_space);
            while !rest.is_empty() {
                if parts.len() == most {
                    parts.push(rest);
                    break;
                }
                let end = rest.find(is_space).unwrap_or(rest.len());
                parts.push(&rest[..end]);
                rest = rest[end..].trim_start_matches(is_space);
            }
        }
    }
    scope.charge(parts.len())?;
    Ok(Value::list(parts.into_iter().map(|part| like(value, part.to_owned())).collect()))
}

fn split_lines(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let keep = arguments.flag("keepends", false)?;
    arguments.finish()?;
    let lines = lines(own(value), keep);
    scope.charge(lines.len())?;
    Ok(Value::list(lines.into_iter().map(|line| like(value, line.to_owned())).collect()))
}

/// Python's `str.splitlines`.
pub(crate) fn lines(text: &str, keep: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_break =
            |c: char| matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let Some(end) = rest.find(is_break) else {
            lines.push(rest);
            break;
        };
        let length =
            if rest[end..].starts_with("\r\n") { 2 } else { rest[end..].chars().next().map_or(1, char::len_utf8) };
        lines.push(if keep { &rest[..end + length] } else { &rest[..end] });
        rest = &rest[end + length..];
    }
    lines
}
