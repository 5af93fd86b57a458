//! Methods of lists and tuples.

use std::cell::RefMut;

use super::MethodFunction;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::filters::sorting;
use crate::scope::Scope;
use crate::value::Value;

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "append" => append,
        "clear" => clear,
        "copy" => copy,
        "count" => count,
        "extend" => extend,
        "index" => index,
        "insert" => insert,
        "pop" => pop,
        "remove" => remove,
        "reverse" => reverse,
        "sort" => sort,
        _ => return None,
    })
}

pub fn find_of_tuple(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "count" => count,
        "index" => index,
        _ => return None,
    })
}

/// Borrows the list. The borrow can't fail: no code of the template runs while a list is borrowed.
fn own(value: &Value) -> Result<RefMut<'_, Vec<Value>>> {
    match value {
        Value::List(items) => Ok(items.borrow_mut()),
        other => Err(Error::type_error(format!("a list is required, not '{}'", other.type_name()))),
    }
}

fn append(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("object")?;
    arguments.finish()?;
    scope.charge(1)?;
    own(value)?.push(item);
    Ok(Value::None)
}

fn clear(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let gone = std::mem::take(&mut *own(value)?);
    drop(Value::list(gone));
    Ok(Value::None)
}

fn copy(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let copy = own(value)?.clone();
    scope.charge(copy.len())?;
    Ok(Value::list(copy))
}

fn count(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("value")?;
    arguments.finish()?;
    let mut count = 0usize;
    for other in value.to_vec()? {
        count += usize::from(other.same(&item) || other.equals(&item)?);
    }
    Ok(count.into())
}

fn extend(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let more = arguments.take("iterable")?;
    arguments.finish()?;
    let more = more.to_vec()?;
    scope.charge(more.len())?;
    own(value)?.extend(more);
    Ok(Value::None)
}

fn index(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("value")?;
    let start = arguments.integer("start", 0)?;
    let stop = arguments.integer("stop", i64::MAX)?;
    arguments.finish()?;
    let items = value.to_vec()?;
    let bound = |bound: i64| if bound < 0 { bound.saturating_add(items.len() as i64).max(0) } else { bound };
    let (start, stop) = (bound(start), bound(stop));
    for (index, other) in items.iter().enumerate() {
        let index = index as i64;
        if index >= start && index < stop && (other.same(&item) || other.equals(&item)?) {
            return Ok(index.into());
        }
    }
    Err(Error::value_error(match value {
        Value::Tuple(_) => "tuple.index(x): x not in tuple".to_owned(),
        _ => format!("{} is not in list", item.repr()?),
    }))
}

fn insert(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let index = arguments.take("index")?.to_index()?;
    let item = arguments.take("object")?;
    arguments.finish()?;
    scope.charge(1)?;
    let mut items = own(value)?;
    let length = items.len() as i64;
    let index = if index < 0 { index.saturating_add(length).max(0) } else { index.min(length) };
    items.insert(index as usize, item);
    Ok(Value::None)
}

fn pop(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let index = arguments.integer("index", -1)?;
    arguments.finish()?;
    let mut items = own(value)?;
    if items.is_empty() {
        return Err(Error::exception("IndexError", "pop from empty list"));
    }
    let index = if index < 0 { index.saturating_add(items.len() as i64) } else { index };
    match usize::try_from(index).ok().filter(|index| *index < items.len()) {
        Some(index) => Ok(items.remove(index)),
        None => Err(Error::exception("IndexError", "pop index out of range")),
    }
}

fn remove(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("value")?;
    arguments.finish()?;
    let items = value.to_vec()?;
    for (index, other) in items.iter().enumerate() {
        if other.same(&item) || other.equals(&item)? {
            own(value)?.remove(index);
            return Ok(Value::None);
        }
    }
    Err(Error::value_error("list.remove(x): x not in list"))
}

fn reverse(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    own(value)?.reverse();
    Ok(Value::None)
}

fn sort(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let key = arguments.keyword("key").filter(|key| !key.is_none());
    let backwards = arguments.keyword("reverse").map_or(Ok(false), |flag| flag.truth())?;
    arguments.finish()?;
    let items = value.to_vec()?;
    let sorted = sorting::sorted(scope, items, backwards, |item| match &key {
        Some(key) => scope.call(key, FunctionArguments::of([item.clone()])),
        None => Ok(item.clone()),
    })?;
    *own(value)? = sorted;
    Ok(Value::None)
}
