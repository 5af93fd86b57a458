//! Filters that read and change nested dicts.

use std::rc::Rc;

use super::text;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Dict, MAX_NESTING, SharedCell, Value};

pub(super) fn traverse(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.take("key")?;
    let default = arguments.or("default", Value::None)?;
    let delimiter = arguments.text("delimiter", ":")?;
    arguments.finish()?;
    let steps = match &key {
        Value::String(path) => split(path, &delimiter).map(Value::from).collect(),
        Value::Int(_) | Value::Bool(_) => vec![key],
        other => other.to_vec()?,
    };
    let mut here = value;
    for step in &steps {
        match next(&here, step)? {
            Some(found) => here = found,
            None => return Ok(default),
        }
    }
    Ok(here)
}

fn split<'t>(path: &'t str, delimiter: &'t str) -> Box<dyn Iterator<Item = &'t str> + 't> {
    if delimiter.is_empty() { Box::new(std::iter::once(path)) } else { Box::new(path.split(delimiter)) }
}

/// Takes one step of a path. In a list, the step is a key of one of its dicts, or else an index.
fn next(here: &Value, step: &Value) -> Result<Option<Value>> {
    match here {
        Value::List(items) => {
            let index = match step {
                Value::String(text) => match text::number(text) {
                    Some(Value::Int(index)) => Some(index),
                    _ => None,
                },
                other => other.as_i64(),
            };
            let key = index.map_or_else(|| step.clone(), Value::Int);
            for item in items.borrow().iter() {
                if let Value::Dict(dict) = item
                    && let Some(found) = dict.borrow().get(&key)?
                {
                    return Ok(Some(found.clone()));
                }
            }
            match index {
                Some(index) => here.get_item(&Value::Int(index)),
                None => Ok(None),
            }
        }
        Value::Dict(dict) => {
            if let Some(found) = dict.borrow().get(step)? {
                return Ok(Some(found.clone()));
            }
            let Some(text) = step.as_str() else { return Ok(None) };
            Ok(dict.borrow().get(&as_yaml(text))?.cloned())
        }
        Value::Object(object) if object.keys().is_some() => here.get_item(step),
        _ => Ok(None),
    }
}

/// Parses a path's step as YAML does: `5` is a number, `true` a boolean.
fn as_yaml(text: &str) -> Value {
    match text {
        "None" => Value::None,
        text if text.trim().is_empty() || text.contains(['\t', '\r', '\n', '[', '{', '#']) => text.into(),
        text => Value::from(rocksalt_core::yaml::resolve(text)),
    }
}

type DictTarget = (Rc<SharedCell<Dict>>, String);

/// Follows a path to its innermost dict, creating missing dicts, and returns that dict and the last key.
fn innermost(value: &Value, arguments: &mut FunctionArguments) -> Result<(DictTarget, Value)> {
    let keys = arguments.take("keys")?.to_text()?;
    let given = arguments.take("value")?;
    let delimiter = arguments.text("delimiter", ":")?;
    let _ = arguments.optional("ordered_dict")?;
    let Value::Dict(dict) = value else {
        let kind = value.type_name();
        return Err(Error::type_error(format!("'{kind}' object does not support item assignment")));
    };
    let mut dict = Rc::clone(dict);
    let mut steps: Vec<&str> = split(&keys, &delimiter).collect();
    let last = steps.pop().unwrap_or_default().to_owned();
    for step in steps {
        let found = dict.borrow().get_str(step).cloned();
        dict = match found {
            Some(Value::Dict(inner)) => inner,
            _ => {
                let inner = Rc::new(SharedCell::new(Dict::new()));
                dict.borrow_mut().insert_str(step, Value::Dict(Rc::clone(&inner)));
                inner
            }
        };
    }
    Ok(((dict, last), given))
}

pub(super) fn set_dict_key_value(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let ((dict, last), given) = innermost(&value, &mut arguments)?;
    arguments.finish()?;
    dict.borrow_mut().insert_str(&last, given);
    Ok(value)
}

pub(super) fn update_dict_key_value(
    scope: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
) -> Result<Value> {
    let (target, given) = innermost(&value, &mut arguments)?;
    arguments.finish()?;
    change(scope, target, given, "update", || Value::dict(Dict::new()))?;
    Ok(value)
}

pub(super) fn append_dict_key_value(
    scope: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
) -> Result<Value> {
    let (target, given) = innermost(&value, &mut arguments)?;
    arguments.finish()?;
    change(scope, target, given, "append", || Value::list(Vec::new()))?;
    Ok(value)
}

pub(super) fn extend_dict_key_value(
    scope: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
) -> Result<Value> {
    let (target, given) = innermost(&value, &mut arguments)?;
    arguments.finish()?;
    change(scope, target, given, "extend", || Value::list(Vec::new()))?;
    Ok(value)
}

/// Changes the value under the last key by its method of that name; a missing value starts as `empty()`.
fn change(scope: &Scope<'_>, target: DictTarget, given: Value, method: &str, empty: fn() -> Value) -> Result<()> {
    let (dict, last) = target;
    let found = dict.borrow().get_str(&last).cloned();
    let inner = match found {
        Some(inner) if !inner.is_none() => inner,
        _ => {
            let inner = empty();
            dict.borrow_mut().insert_str(&last, inner.clone());
            inner
        }
    };
    let class = |value: &Value| format!("<class '{}'>", value.type_name());
    let Some(callee) = inner.get_attribute(method)? else {
        let message = format!("The last key contains a {}, which cannot {method}.", class(&inner));
        return Err(Error::exception("SaltInvocationError", message));
    };
    scope.call(&callee, FunctionArguments::of(vec![given.clone()])).map_err(|_| {
        let message = format!("Cannot {method} {} with a {}.", class(&inner), class(&given));
        Error::exception("SaltInvocationError", message)
    })?;
    Ok(())
}

pub(super) fn to_entries(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let entry =
        |key: Value, value: &Value| Value::dict([("key", key), ("value", value.clone())].into_iter().collect::<Dict>());
    Ok(match &value {
        Value::Dict(dict) => Value::list(dict.borrow().iter().map(|(key, value)| entry(key.clone(), value)).collect()),
        Value::List(items) => {
            Value::list(items.borrow().iter().enumerate().map(|(index, item)| entry(index.into(), item)).collect())
        }
        _ => return Err(Error::exception("SaltException", "Input data must be a dict or list")),
    })
}

pub(super) fn from_entries(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut out = Dict::new();
    for entry in value.to_vec()? {
        let Value::Dict(entry) = entry else { continue };
        let entry = entry.borrow().clone();
        // The case of the field names doesn't matter.
        let get = |name: &str| {
            let fits = |key: &Value| key.as_str().is_some_and(|key| key.eq_ignore_ascii_case(name));
            entry.iter().find(|(key, _)| fits(key)).map(|(_, value)| value.clone())
        };
        for name in ["key", "name"] {
            if let Some(key) = get(name)
                && key.truth()?
            {
                out.insert(key, get("value").unwrap_or(Value::None))?;
                break;
            }
        }
    }
    Ok(Value::dict(out))
}

pub(super) fn compare_dicts(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let new = arguments.take("new")?;
    arguments.finish()?;
    let (Value::Dict(old), Value::Dict(new)) = (&value, &new) else {
        return Err(Error::type_error("compare_dicts() compares two dicts"));
    };
    let (old, new) = (old.borrow().clone(), new.borrow().clone());
    let mut changes = Dict::new();
    let only_old = old.keys().filter(|key| !new.contains(key).unwrap_or(false));
    for key in new.keys().chain(only_old) {
        let (before, after) = (old.get(key)?, new.get(key)?);
        let pair: [(&str, Value); 2] = match (before, after) {
            (None, Some(after)) => [("old", "".into()), ("new", after.clone())],
            (Some(before), None) => [("new", "".into()), ("old", before.clone())],
            (Some(before), Some(after)) if !before.equals(after)? => [("old", before.clone()), ("new", after.clone())],
            _ => continue,
        };
        changes.insert(key.clone(), Value::dict(pair.into_iter().collect()))?;
    }
    Ok(Value::dict(changes))
}

pub(super) fn mysql_to_dict(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.take("key")?;
    arguments.finish()?;
    let mut headers: Vec<String> = Vec::new();
    let mut out = Dict::new();
    for line in value.to_vec()? {
        let line = line.to_text()?;
        if line.is_empty() || line.starts_with('+') {
            continue;
        }
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        if headers.len() < 2 {
            headers = cells;
            continue;
        }
        let mut row = Dict::new();
        for (header, cell) in headers.iter().zip(&cells).take(headers.len() - 1).skip(1) {
            row.insert_str(header, text::number(cell).unwrap_or_else(|| cell.into()));
        }
        let name = row.get(&key)?.cloned();
        let name = name.ok_or_else(|| Error::exception("KeyError", key.repr().unwrap_or_default()))?;
        out.insert(name, Value::dict(row))?;
    }
    Ok(Value::dict(out))
}

/// `json_encode_dict` and the like: returns the data with texts as bytes and tuples as lists.
pub(super) fn encode(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let _ = (arguments.rest(), arguments.keywords());
    encoded(scope, &value, 0)
}

fn encoded(scope: &Scope<'_>, value: &Value, depth: usize) -> Result<Value> {
    if depth > MAX_NESTING {
        return Err(Error::too_deep("encoding"));
    }
    scope.charge(10)?;
    Ok(match value {
        Value::String(text) => Value::Bytes(text.as_bytes().into()),
        Value::List(items) | Value::Tuple(items) => {
            let items = items.borrow().clone();
            Value::list(items.iter().map(|item| encoded(scope, item, depth + 1)).collect::<Result<_>>()?)
        }
        Value::Dict(dict) => {
            let mut out = Dict::new();
            for (key, value) in dict.borrow().clone().iter() {
                out.insert(encoded(scope, key, depth + 1)?, encoded(scope, value, depth + 1)?)?;
            }
            Value::dict(out)
        }
        other => other.clone(),
    })
}
