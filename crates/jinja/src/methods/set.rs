//! Methods of sets.

use super::MethodFunction;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{PythonSet, Value};

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "add" => add,
        "clear" => clear,
        "copy" => copy,
        "difference" => difference,
        "discard" => discard,
        "intersection" => intersection,
        "isdisjoint" => is_disjoint,
        "issubset" => is_subset,
        "issuperset" => is_superset,
        "pop" => pop,
        "remove" => remove,
        "symmetric_difference" => symmetric_difference,
        "union" => union,
        "update" => update,
        _ => return None,
    })
}

fn items(value: &Value) -> Result<PythonSet> {
    match value {
        Value::Set(set) => Ok(set.borrow().clone()),
        other => PythonSet::collect(other.to_vec()?),
    }
}

fn own(value: &Value) -> Result<std::cell::RefMut<'_, PythonSet>> {
    match value {
        Value::Set(set) => Ok(set.borrow_mut()),
        other => Err(Error::type_error(format!("a set is required, not '{}'", other.type_name()))),
    }
}

/// The items of the first set that are in the second, or with `inside` false those that aren't.
fn select(first: &PythonSet, second: &PythonSet, inside: bool) -> Result<PythonSet> {
    let mut set = PythonSet::new();
    for item in first.iter() {
        if second.contains(item)? == inside {
            set.insert(item.clone())?;
        }
    }
    Ok(set)
}

fn add(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("elem")?;
    arguments.finish()?;
    scope.charge(1)?;
    own(value)?.insert(item)?;
    Ok(Value::None)
}

fn clear(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    *own(value)? = PythonSet::new();
    Ok(Value::None)
}

fn copy(scope: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let copy = items(value)?;
    scope.charge(copy.len())?;
    Ok(Value::set(copy))
}

fn difference(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let mut set = items(value)?;
    for other in arguments.rest() {
        set = select(&set, &items(&other)?, false)?;
    }
    Ok(Value::set(set))
}

fn intersection(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let mut set = items(value)?;
    for other in arguments.rest() {
        set = select(&set, &items(&other)?, true)?;
    }
    Ok(Value::set(set))
}

fn symmetric_difference(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let (first, second) = (items(value)?, items(&arguments.take("other")?)?);
    let mut set = select(&first, &second, false)?;
    for item in select(&second, &first, false)?.iter() {
        set.insert(item.clone())?;
    }
    Ok(Value::set(set))
}

fn union(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let mut set = items(value)?;
    for other in arguments.rest() {
        for item in other.iterate()? {
            scope.charge(1)?;
            set.insert(item?)?;
        }
    }
    Ok(Value::set(set))
}

fn update(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    for other in arguments.rest() {
        for item in other.to_vec()? {
            scope.charge(1)?;
            own(value)?.insert(item)?;
        }
    }
    Ok(Value::None)
}

fn discard(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    own(value)?.remove(&arguments.take("elem")?)?;
    Ok(Value::None)
}

fn remove(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let item = arguments.take("elem")?;
    match own(value)?.remove(&item)? {
        true => Ok(Value::None),
        false => Err(Error::exception("KeyError", item.repr()?)),
    }
}

fn pop(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    own(value)?.pop().ok_or_else(|| Error::exception("KeyError", "'pop from an empty set'"))
}

fn is_disjoint(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    Ok(select(&items(value)?, &items(&arguments.take("other")?)?, true)?.is_empty().into())
}

fn is_subset(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    Ok(select(&items(value)?, &items(&arguments.take("other")?)?, false)?.is_empty().into())
}

fn is_superset(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    Ok(select(&items(&arguments.take("other")?)?, &items(value)?, false)?.is_empty().into())
}
