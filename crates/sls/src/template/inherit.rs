//! Marks the maps in a function's result that are ordered dicts in Salt.
//!
//! Functions work on plain data. In Salt they return the very objects that they were given, or those of the pillar. The
//! `yaml` filter writes such an ordered dict in its own order, and errors show its class.

use std::rc::Rc;

use rocksalt_jinja::Value;

/// Gives the maps of a result the classes that they have in the data they come from.
pub(super) fn classes(
    function: &str,
    result: &Value,
    positional: &[Value],
    named: &[(Rc<str>, Value)],
    pillar: &Value,
) {
    if !matches!(result, Value::Dict(_) | Value::List(_)) {
        return;
    }
    let argument = |index: usize, name: &str| {
        let by_name = || named.iter().find(|(given, _)| **given == *name).map(|(_, value)| value);
        positional.get(index).or_else(by_name).cloned()
    };
    match function {
        "slsutil.renderer" => drop(result.clone().ordered()),
        "pillar.items" | "pillar.ext" => below(result, std::slice::from_ref(pillar)),
        "pillar.raw" if argument(0, "key").is_none() => below(result, std::slice::from_ref(pillar)),
        "pillar.get" | "pillar.raw" | "config.get" | "config.option" => {
            let sources = argument(1, "default").into_iter().chain(found(pillar, argument(0, "key").as_ref(), result));
            let sources: Vec<Value> = sources.filter(|source| is_part(source, result)).collect();
            both(result, &sources);
        }
        "pillar.item" => {
            let Value::Dict(items) = result else { return };
            for (key, value) in items.borrow().iter() {
                both(value, &found(pillar, Some(key), value).into_iter().collect::<Vec<_>>());
            }
        }
        "grains.filter_by" | "match.filter_by" | "pillar.filter_by" => {
            let mut sources = Vec::new();
            if let Some(Value::Dict(lookup)) = argument(0, "lookup_dict").or_else(|| argument(0, "lookup")) {
                sources.extend(lookup.borrow().values().cloned());
            }
            sources.extend(argument(2, "merge"));
            both(result, &sources);
        }
        "slsutil.merge_all" => {
            if let Some(Value::List(maps)) = argument(0, "lst") {
                below(result, &maps.borrow());
            }
        }
        _ => {
            let sources: Vec<Value> =
                positional.iter().cloned().chain(named.iter().map(|(_, value)| value.clone())).collect();
            both(result, &sources);
        }
    }
}

/// The pillar's value at a path, with any delimiter, if the result can be that value.
fn found(pillar: &Value, key: Option<&Value>, result: &Value) -> Option<Value> {
    let key = key?.as_str()?;
    let mut at = pillar.clone();
    for step in key.split([':', '|', '/', '.']) {
        at = match &at {
            Value::Dict(dict) => dict.borrow().get_str(step).cloned()?,
            Value::List(items) => match step.parse::<usize>() {
                Ok(index) => items.borrow().get(index).cloned()?,
                Err(_) => items.borrow().iter().find_map(|item| match item {
                    Value::Dict(dict) => dict.borrow().get_str(step).cloned(),
                    _ => None,
                })?,
            },
            _ => return None,
        };
    }
    is_part(&at, result).then_some(at)
}

/// Whether the source's keys are all in the result; otherwise the result is other data.
fn is_part(source: &Value, result: &Value) -> bool {
    match (source, result) {
        (Value::Dict(source), Value::Dict(result)) => {
            let result = result.borrow();
            source.borrow().keys().all(|key| result.contains(key).unwrap_or(false))
        }
        (Value::List(_), Value::List(_)) => true,
        _ => false,
    }
}

/// Copies the class of the first source that is a map, at every depth.
fn both(result: &Value, sources: &[Value]) {
    if let Value::Dict(result) = result {
        let class = sources.iter().find_map(|source| match source {
            // A value that is the source itself has its class already.
            Value::Dict(source) if !Rc::ptr_eq(source, result) => Some(source.borrow().class()),
            _ => None,
        });
        if class == Some(rocksalt_jinja::ORDERED) {
            result.borrow_mut().set_class(rocksalt_jinja::ORDERED);
        }
    }
    below(result, sources);
}

/// Like `both`, but leaves the outermost map unchanged.
pub(super) fn below(result: &Value, sources: &[Value]) {
    if sources.is_empty() {
        return;
    }
    match result {
        Value::Dict(result) => {
            for (key, value) in result.borrow().iter() {
                if !matches!(value, Value::Dict(_) | Value::List(_)) {
                    continue;
                }
                let inner: Vec<Value> = sources
                    .iter()
                    .filter_map(|source| match source {
                        Value::Dict(source) => source.borrow().get(key).ok().flatten().cloned(),
                        _ => None,
                    })
                    .collect();
                both(value, &inner);
            }
        }
        Value::List(items) => {
            for (index, item) in items.borrow().iter().enumerate() {
                if !matches!(item, Value::Dict(_) | Value::List(_)) {
                    continue;
                }
                let same = sources.iter().find_map(|source| match source {
                    Value::List(others) => like(item, index, &others.borrow()),
                    _ => None,
                });
                both(item, &same.into_iter().collect::<Vec<_>>());
            }
        }
        _ => {}
    }
}

/// Finds an equal item: first at the same index, then among the first items of the list.
fn like(item: &Value, index: usize, others: &[Value]) -> Option<Value> {
    const LONG: usize = 200;
    let equal = |other: &&Value| other.equals(item).unwrap_or(false);
    let elsewhere = || others.iter().take(LONG).find(equal);
    others.get(index).filter(equal).or_else(elsewhere).cloned()
}
