//! Filters on lists: set operations, sums and searches.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Comparison, Dict, MAX_NESTING, PythonSet, Value};
use rocksalt_core::sort::sort_by;

/// Whether Python could hash the value. Salt's set filters return a set for hashable arguments, else a list.
fn is_hashable(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Dict(_) | Value::Set(_))
}

fn has(items: &[Value], wanted: &Value) -> Result<bool> {
    for item in items {
        if item.same(wanted) || item.equals(wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn without_doubles(scope: &Scope<'_>, items: impl IntoIterator<Item = Value>) -> Result<Value> {
    let mut set = PythonSet::new();
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        // Only items that can't be hashed are compared with all the others.
        let fresh = match set.insert(item.clone()) {
            Ok(fresh) => fresh,
            Err(_) => {
                scope.charge(kept.len())?;
                !has(&kept, &item)?
            }
        };
        if fresh {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

pub(super) fn unique(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if is_hashable(&value) {
        return Ok(Value::set(PythonSet::collect(value.to_vec()?)?));
    }
    without_doubles(scope, value.to_vec()?)
}

pub(super) fn union(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    let other = second(arguments)?;
    if is_hashable(&value) && is_hashable(&other) {
        let mut items = value.to_vec()?;
        items.extend(other.to_vec()?);
        return Ok(Value::set(PythonSet::collect(items)?));
    }
    match (&value, &other) {
        (Value::List(_), Value::List(_)) => without_doubles(scope, value.to_vec()?.into_iter().chain(other.to_vec()?)),
        (Value::List(_), other) => {
            Err(Error::type_error(format!("can only concatenate list (not \"{}\") to list", other.type_name())))
        }
        (Value::Tuple(_), other) => {
            Err(Error::type_error(format!("can only concatenate tuple (not \"{}\") to tuple", other.type_name())))
        }
        (value, other) => Err(Error::type_error(format!(
            "unsupported operand type(s) for +: '{}' and '{}'",
            value.type_name(),
            other.type_name()
        ))),
    }
}

pub(super) fn intersect(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, &value, &second(arguments)?, true)
}

pub(super) fn difference(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, &value, &second(arguments)?, false)
}

pub(super) fn symmetric_difference(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    let other = second(arguments)?;
    let (only_first, only_second) = (chosen(scope, &value, &other, false)?, chosen(scope, &other, &value, false)?);
    let mut items = only_first.to_vec()?;
    items.extend(only_second.to_vec()?);
    if is_hashable(&value) && is_hashable(&other) {
        return Ok(Value::set(PythonSet::collect(items)?));
    }
    without_doubles(scope, items)
}

/// The items that are in `other`, or with `wanted` false those that aren't.
fn chosen(scope: &Scope<'_>, value: &Value, other: &Value, wanted: bool) -> Result<Value> {
    let as_set = is_hashable(value) && is_hashable(other);
    let others = other.to_vec()?;
    let hashed = PythonSet::collect(others.iter().cloned()).ok();
    let mut kept = Vec::new();
    for item in value.to_vec()? {
        let found = match &hashed {
            Some(set) if is_hashable(&item) => set.contains(&item)?,
            _ => {
                scope.charge(others.len())?;
                has(&others, &item)?
            }
        };
        if found == wanted {
            kept.push(item);
        }
    }
    if as_set { Ok(Value::set(PythonSet::collect(kept)?)) } else { without_doubles(scope, kept) }
}

fn second(mut arguments: FunctionArguments) -> Result<Value> {
    let other = arguments.take("lst2")?;
    arguments.finish()?;
    Ok(other)
}

pub(super) fn min(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    extreme(&value, "min", Comparison::Less)
}

pub(super) fn max(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    extreme(&value, "max", Comparison::Greater)
}

fn extreme(value: &Value, name: &str, better: Comparison) -> Result<Value> {
    let mut items = value.to_vec()?.into_iter();
    let Some(mut best) = items.next() else {
        return Err(Error::value_error(format!("{name}() arg is an empty sequence")));
    };
    for item in items {
        if item.compares(better, &best)? {
            best = item;
        }
    }
    Ok(best)
}

pub(super) fn avg(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    if is_hashable(&value) {
        return match &value {
            Value::String(text) => super::text::float(text).map(Value::Float).ok_or_else(|| {
                Error::value_error(format!("could not convert string to float: {}", crate::value::quoted(text)))
            }),
            other => other.as_f64().map(Value::Float).ok_or_else(|| {
                Error::type_error(format!(
                    "float() argument must be a string or a real number, not '{}'",
                    other.type_name()
                ))
            }),
        };
    }
    let count = value.len()?;
    let sum = scope.filter("sum", value, FunctionArguments::none())?;
    if count == 0 {
        return Err(Error::exception("ZeroDivisionError", "division by zero"));
    }
    let sum = sum.as_f64().ok_or_else(|| {
        Error::type_error(format!("unsupported operand type(s) for /: '{}' and 'int'", sum.type_name()))
    })?;
    Ok(Value::Float(sum / count as f64))
}

pub(super) fn flatten(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let levels = match arguments.optional("levels")? {
        Some(levels) if !levels.is_none() => Some(levels.to_index()?),
        _ => None,
    };
    let keep_nulls = arguments.flag("preserve_nulls", false)?;
    arguments.finish()?;
    let mut out = Vec::new();
    flatten_into(scope, &value, levels, keep_nulls, &mut out, 0)?;
    Ok(Value::list(out))
}

fn flatten_into(
    scope: &Scope<'_>,
    value: &Value,
    levels: Option<i64>,
    keep_nulls: bool,
    out: &mut Vec<Value>,
    depth: usize,
) -> Result<()> {
    if depth > MAX_NESTING {
        return Err(Error::exception("RecursionError", "Reference cycle detected. Check input list."));
    }
    for item in value.to_vec()? {
        scope.charge(1)?;
        let is_null = item.is_none() || matches!(item.as_str(), Some("None" | "null"));
        if is_null && !keep_nulls {
            continue;
        }
        if iterates(&item) && levels.is_none_or(|levels| levels >= 1) {
            flatten_into(scope, &item, levels.map(|levels| levels - 1), keep_nulls, out, depth + 1)?;
        } else {
            out.push(item);
        }
    }
    Ok(())
}

fn iterates(value: &Value) -> bool {
    value.as_str().is_none() && value.is_iterable()
}

pub(super) fn is_iter(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let _ = arguments.optional("ignore")?;
    arguments.finish()?;
    Ok(iterates(&value).into())
}

pub(super) fn is_list(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(matches!(value, Value::List(_)).into())
}

pub(super) fn sorted_ignorecase(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut keyed = Vec::new();
    for item in value.to_vec()? {
        let Some(text) = item.as_str() else {
            let kind = item.type_name();
            return Err(Error::exception("AttributeError", format!("'{kind}' object has no attribute 'lower'")));
        };
        keyed.push((text.to_lowercase(), item));
    }
    sort_by(&mut keyed, |(a, _), (b, _)| a.cmp(b));
    Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect()))
}

pub(super) fn exactly_n_true(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let amount = arguments.integer("amount", 1)?;
    arguments.finish()?;
    true_items(&value, amount)
}

pub(super) fn exactly_one_true(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    true_items(&value, 1)
}

fn true_items(value: &Value, amount: i64) -> Result<Value> {
    let mut found = 0;
    for item in value.to_vec()? {
        found += i64::from(item.truth()?);
    }
    Ok((found == amount).into())
}

pub(super) fn substring_in_list(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let list = arguments.take("list_to_search")?;
    arguments.finish()?;
    for item in list.to_vec()? {
        if item.contains(&value)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

pub(super) fn compare_lists(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let new = arguments.take("new")?.to_vec()?;
    arguments.finish()?;
    let old = value.to_vec()?;
    scope.charge(old.len().saturating_mul(new.len()))?;
    let mut changes = Dict::new();
    for (name, items, others) in [("new", &new, &old), ("old", &old, &new)] {
        let mut only = Vec::new();
        for item in items {
            if !has(others, item)? {
                only.push(item.clone());
            }
        }
        if !only.is_empty() {
            changes.insert_str(name, Value::list(only));
        }
    }
    Ok(Value::dict(changes))
}
