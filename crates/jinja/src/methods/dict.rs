//! Methods of dicts.

use std::rc::Rc;

use super::{MethodFunction, View, ViewKind};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Dict, SharedCell, Value};

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "clear" => clear,
        "copy" => copy,
        "fromkeys" => from_keys,
        "get" => get,
        "items" => items,
        "keys" => keys,
        "pop" => pop,
        "popitem" => pop_item,
        "setdefault" => set_default,
        "update" => update,
        "values" => values,
        _ => return None,
    })
}

fn own(value: &Value) -> Result<&Rc<SharedCell<Dict>>> {
    match value {
        Value::Dict(dict) => Ok(dict),
        other => Err(Error::type_error(format!("a dict is required, not '{}'", other.type_name()))),
    }
}

fn get(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.take("key")?;
    let default = arguments.or("default", Value::None)?;
    arguments.finish()?;
    Ok(own(value)?.borrow().get(&key)?.cloned().unwrap_or(default))
}

fn view(value: &Value, arguments: FunctionArguments, kind: ViewKind) -> Result<Value> {
    arguments.finish()?;
    Ok(Value::object(View { dict: Rc::clone(own(value)?), kind }))
}

fn keys(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    view(value, arguments, ViewKind::Keys)
}

fn values(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    view(value, arguments, ViewKind::Values)
}

fn items(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    view(value, arguments, ViewKind::Items)
}

fn clear(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let gone = own(value)?.borrow_mut().clear();
    drop(gone);
    Ok(Value::None)
}

fn copy(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let copy = own(value)?.borrow().clone();
    scope.charge(copy.len())?;
    Ok(Value::dict(copy))
}

fn from_keys(scope: &Scope<'_>, _: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let keys = arguments.take("iterable")?;
    let value = arguments.or("value", Value::None)?;
    arguments.finish()?;
    let mut dict = Dict::new();
    for key in keys.iterate()? {
        scope.charge(1)?;
        dict.insert(key?, value.clone())?;
    }
    Ok(Value::dict(dict))
}

fn pop(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.take("key")?;
    let default = arguments.optional("default")?;
    arguments.finish()?;
    let removed = own(value)?.borrow_mut().remove(&key)?;
    match removed.or(default) {
        Some(value) => Ok(value),
        None => Err(Error::exception("KeyError", key.repr()?)),
    }
}

fn pop_item(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    match own(value)?.borrow_mut().pop_last() {
        Some((key, value)) => Ok(Value::tuple(vec![key, value])),
        None => Err(Error::exception("KeyError", "'popitem(): dictionary is empty'")),
    }
}

fn set_default(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.take("key")?;
    let default = arguments.or("default", Value::None)?;
    arguments.finish()?;
    let dict = own(value)?;
    if let Some(found) = dict.borrow().get(&key)? {
        return Ok(found.clone());
    }
    scope.charge(1)?;
    dict.borrow_mut().insert(key, default.clone())?;
    Ok(default)
}

fn update(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    if arguments.positional_left() > 1 {
        let given = arguments.positional_left();
        return Err(Error::type_error(format!("update expected at most 1 argument, got {given}")));
    }
    let dict = own(value)?;
    if let Some(other) = arguments.next_positional() {
        for (key, value) in pairs(&other)? {
            scope.charge(1)?;
            dict.borrow_mut().insert(key, value)?;
        }
    }
    for (name, value) in arguments.keywords() {
        dict.borrow_mut().insert_str(&name, value);
    }
    Ok(Value::None)
}

/// The pairs for `dict(x)` and `.update(x)`: from a mapping or a list of pairs.
pub fn pairs(value: &Value) -> Result<Vec<(Value, Value)>> {
    match value {
        Value::Dict(dict) => {
            return Ok(dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        Value::Object(object) => {
            if let Some(keys) = object.keys() {
                return keys
                    .into_iter()
                    .map(|key| Ok((key.clone(), object.get_item(&key)?.unwrap_or(Value::None))))
                    .collect();
            }
        }
        _ => {}
    }
    let mut pairs = Vec::new();
    for (index, item) in value.iterate()?.enumerate() {
        let item = item?;
        if !item.is_iterable() {
            let message = format!("cannot convert dictionary update sequence element #{index} to a sequence");
            return Err(Error::type_error(message));
        }
        let pair = item.to_vec()?;
        let [key, value] = &pair[..] else {
            return Err(Error::value_error(format!(
                "dictionary update sequence element #{index} has length {}; 2 is required",
                pair.len()
            )));
        };
        pairs.push((key.clone(), value.clone()));
    }
    Ok(pairs)
}
