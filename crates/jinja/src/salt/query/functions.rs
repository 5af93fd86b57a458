//! The functions that queries can call.

use super::evaluate::{QueryEvaluator, is_list, is_number};
use super::parser::QueryNode as Node;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::salt::json_text::{DumpsOptions, dumps};
use crate::value::{Comparison, Dict, Value};
use rocksalt_core::sort::sort_by;

/// A function of the query language. [`FUNCTIONS`] gives its least and its largest number of arguments.
type QueryFunction = fn(&QueryEvaluator<'_, '_>, &[Value], &[Node]) -> Result<Value>;

const FUNCTIONS: &[(&str, usize, usize, QueryFunction)] = &[
    ("abs", 1, 1, |query, values, _| query.scope.filter("abs", number(values, 0)?, FunctionArguments::none())),
    ("avg", 1, 1, |query, values, _| {
        let items = list(values, 0)?;
        if items.is_empty() {
            return Ok(Value::None);
        }
        let sum = query.scope.filter("sum", Value::list(items.clone()), FunctionArguments::none())?;
        Ok(sum.as_f64().map_or(Value::None, |sum| Value::Float(sum / items.len() as f64)))
    }),
    ("ceil", 1, 1, |_, values, _| Ok(rounded(&number(values, 0)?, f64::ceil))),
    ("contains", 2, 2, |_, values, _| match &values[0] {
        Value::String(text) => Ok(values[1].as_str().is_some_and(|part| text.contains(part)).into()),
        _ => {
            let items = list(values, 0)?;
            for item in &items {
                if item.equals(&values[1])? {
                    return Ok(true.into());
                }
            }
            Ok(false.into())
        }
    }),
    ("ends_with", 2, 2, |_, values, _| Ok(text(values, 0)?.ends_with(&text(values, 1)?).into())),
    ("floor", 1, 1, |_, values, _| Ok(rounded(&number(values, 0)?, f64::floor))),
    ("join", 2, 2, |_, values, _| {
        let items = list(values, 1)?;
        let texts = (0..items.len()).map(|index| text(&items, index)).collect::<Result<Vec<_>>>()?;
        Ok(texts.join(&text(values, 0)?).into())
    }),
    ("keys", 1, 1, |_, values, _| Ok(Value::list(dict(values, 0)?.keys().cloned().collect()))),
    ("length", 1, 1, |_, values, _| Ok(values[0].len()?.into())),
    ("map", 2, 2, |query, values, nodes| {
        let by = reference(nodes, 0)?;
        Ok(Value::list(list(values, 1)?.iter().map(|item| query.run(by, item)).collect::<Result<_>>()?))
    }),
    ("max", 1, 1, |_, values, _| best(&list(values, 0)?, |item| Ok(item.clone()), Comparison::Greater)),
    ("max_by", 2, 2, |query, values, nodes| {
        let by = reference(nodes, 1)?;
        best(&list(values, 0)?, |item| query.run(by, item), Comparison::Greater)
    }),
    ("merge", 1, usize::MAX, |_, values, _| {
        let mut merged = Dict::new();
        for index in 0..values.len() {
            for (key, value) in dict(values, index)?.iter() {
                merged.insert(key.clone(), value.clone())?;
            }
        }
        Ok(Value::dict(merged))
    }),
    ("min", 1, 1, |_, values, _| best(&list(values, 0)?, |item| Ok(item.clone()), Comparison::Less)),
    ("min_by", 2, 2, |query, values, nodes| {
        let by = reference(nodes, 1)?;
        best(&list(values, 0)?, |item| query.run(by, item), Comparison::Less)
    }),
    ("not_null", 1, usize::MAX, |_, values, _| {
        Ok(values.iter().find(|value| !value.is_none()).cloned().unwrap_or(Value::None))
    }),
    ("reverse", 1, 1, |_, values, _| match &values[0] {
        Value::String(text) => Ok(text.chars().rev().collect::<String>().into()),
        _ => Ok(Value::list(list(values, 0)?.into_iter().rev().collect())),
    }),
    ("sort", 1, 1, |_, values, _| sorted(list(values, 0)?, |item| Ok(item.clone()))),
    ("sort_by", 2, 2, |query, values, nodes| {
        let by = reference(nodes, 1)?;
        sorted(list(values, 0)?, |item| query.run(by, item))
    }),
    ("starts_with", 2, 2, |_, values, _| Ok(text(values, 0)?.starts_with(&text(values, 1)?).into())),
    ("sum", 1, 1, |query, values, _| {
        query.scope.filter("sum", Value::list(list(values, 0)?), FunctionArguments::none())
    }),
    ("to_array", 1, 1, |_, values, _| match &values[0] {
        list if is_list(list) => Ok(list.clone()),
        other => Ok(Value::list(vec![other.clone()])),
    }),
    ("to_number", 1, 1, |_, values, _| match &values[0] {
        value if is_number(value) => Ok(value.clone()),
        Value::String(text) => Ok(crate::salt::text::number(text).unwrap_or(Value::None)),
        _ => Ok(Value::None),
    }),
    ("to_string", 1, 1, |query, values, _| match &values[0] {
        text @ Value::String(_) => Ok(text.clone()),
        other => Ok(dumps(other, layout(query))?.replace(", ", ",").replace("\": ", "\":").into()),
    }),
    ("type", 1, 1, |_, values, _| Ok(kind(&values[0]).into())),
    ("values", 1, 1, |_, values, _| Ok(Value::list(dict(values, 0)?.values().cloned().collect()))),
];

pub(super) fn call(query: &QueryEvaluator<'_, '_>, name: &str, nodes: &[Node], value: &Value) -> Result<Value> {
    let Ok(found) = FUNCTIONS.binary_search_by_key(&name, |(known, ..)| known) else {
        let hint = rocksalt_core::nearest::nearest(name, FUNCTIONS.iter().map(|(known, ..)| *known));
        let error = Error::exception("UnknownFunctionError", format!("Unknown function: {name}()"));
        return Err(match hint {
            Some(known) => error.with_hint(format!("did you mean '{known}'?")),
            None => error,
        });
    };
    let (_, least, most, function) = FUNCTIONS[found];
    if nodes.len() < least || nodes.len() > most {
        let wanted = if most == usize::MAX { format!("at least {least}") } else { least.to_string() };
        let message = format!("Expected {wanted} arguments for function {name}(), received {}", nodes.len());
        return Err(Error::exception("ArityError", message));
    }
    let values = nodes.iter().map(|node| query.run(node, value)).collect::<Result<Vec<_>>>()?;
    function(query, &values, nodes).map_err(|mut error| {
        if error.exception == "JMESPathTypeError" {
            error.message = format!("In function {name}(), {}", error.message);
        }
        error
    })
}

fn layout(query: &QueryEvaluator<'_, '_>) -> DumpsOptions<'static> {
    let limit = query.scope.environment().options().limits.output_bytes;
    DumpsOptions { sort_keys: false, indent: None, ascii: true, limit }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::None => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Dict(_) => "object",
        value if is_list(value) => "array",
        _ => "number",
    }
}

fn wrong(value: &Value, expected: &str) -> Error {
    let shown = value.to_text().unwrap_or_default();
    let message =
        format!("invalid type for value: {shown}, expected one of: ['{expected}'], received: \"{}\"", kind(value));
    Error::exception("JMESPathTypeError", message)
}

fn list(values: &[Value], index: usize) -> Result<Vec<Value>> {
    if is_list(&values[index]) { values[index].to_vec() } else { Err(wrong(&values[index], "array")) }
}

fn number(values: &[Value], index: usize) -> Result<Value> {
    if is_number(&values[index]) { Ok(values[index].clone()) } else { Err(wrong(&values[index], "number")) }
}

fn text(values: &[Value], index: usize) -> Result<String> {
    values[index].as_str().map(str::to_owned).ok_or_else(|| wrong(&values[index], "string"))
}

fn dict(values: &[Value], index: usize) -> Result<Dict> {
    match &values[index] {
        Value::Dict(dict) => Ok(dict.borrow().clone()),
        other => Err(wrong(other, "object")),
    }
}

fn reference(nodes: &[Node], index: usize) -> Result<&Node> {
    match &nodes[index] {
        Node::Reference(inner) => Ok(inner),
        _ => Err(wrong(&Value::None, "expref")),
    }
}

fn rounded(value: &Value, round: fn(f64) -> f64) -> Value {
    match value {
        Value::Float(number) => {
            rocksalt_core::Value::integer(&format!("{:.0}", round(*number))).map_or_else(|| value.clone(), Value::from)
        }
        other => other.clone(),
    }
}

fn best(items: &[Value], by: impl Fn(&Value) -> Result<Value>, better: Comparison) -> Result<Value> {
    let mut best: Option<(Value, &Value)> = None;
    for item in items {
        let key = by(item)?;
        if best.as_ref().map_or(Ok(true), |(known, _)| key.compares(better, known))? {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::None, |(_, item)| item.clone()))
}

fn sorted(items: Vec<Value>, by: impl Fn(&Value) -> Result<Value>) -> Result<Value> {
    let mut keyed = items.into_iter().map(|item| Ok((by(&item)?, item))).collect::<Result<Vec<_>>>()?;
    let mut failure = None;
    sort_by(&mut keyed, |(a, _), (b, _)| {
        a.order(b).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            std::cmp::Ordering::Equal
        })
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    #[test]
    fn functions_are_sorted() {
        assert!(FUNCTIONS.is_sorted_by_key(|(name, ..)| name), "they are searched by halves");
    }
}
