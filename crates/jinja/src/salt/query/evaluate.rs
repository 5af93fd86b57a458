//! Evaluates a query on a value.

use super::functions;
use super::parser::QueryNode as Node;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::{Comparison, Dict, Slice, Value};

pub(super) struct QueryEvaluator<'s, 'e> {
    pub scope: &'s Scope<'e>,
}

impl QueryEvaluator<'_, '_> {
    pub fn run(&self, node: &Node, value: &Value) -> Result<Value> {
        self.scope.charge(1)?;
        Ok(match node {
            Node::Identity => value.clone(),
            Node::Field(name) => field(value, name)?,
            Node::Literal(literal) => literal.clone(),
            Node::Index(index) if is_list(value) => value.get_item(&Value::Int(*index))?.unwrap_or(Value::None),
            Node::Slice(parts) if is_list(value) => {
                let [start, stop, step] = *parts;
                value.slice(&Slice { start, stop, step })?
            }
            Node::Index(_) | Node::Slice(_) => Value::None,
            Node::Then(first, second) => self.run(second, &self.run(first, value)?)?,
            Node::Or(first, second) => {
                let found = self.run(first, value)?;
                if holds(&found) { found } else { self.run(second, value)? }
            }
            Node::And(first, second) => {
                let found = self.run(first, value)?;
                if holds(&found) { self.run(second, value)? } else { found }
            }
            Node::Not(inner) => (!holds(&self.run(inner, value)?)).into(),
            Node::Compare(sign, left, right) => compare(sign, &self.run(left, value)?, &self.run(right, value)?)?,
            Node::Flatten(inner) => match self.run(inner, value)? {
                list if is_list(&list) => flatten(&list)?,
                _ => Value::None,
            },
            Node::Items(inner, each) => match self.run(inner, value)? {
                list if is_list(&list) => self.project(list.to_vec()?, None, each)?,
                _ => Value::None,
            },
            Node::Values(inner, each) => match self.run(inner, value)? {
                Value::Dict(dict) => {
                    let values = dict.borrow().values().cloned().collect();
                    self.project(values, None, each)?
                }
                _ => Value::None,
            },
            Node::Filter(inner, condition, each) => match self.run(inner, value)? {
                list if is_list(&list) => self.project(list.to_vec()?, Some(condition), each)?,
                _ => Value::None,
            },
            Node::List(_) | Node::Dict(_) if value.is_none() => Value::None,
            Node::List(items) => Value::list(items.iter().map(|item| self.run(item, value)).collect::<Result<_>>()?),
            Node::Dict(pairs) => {
                let mut dict = Dict::new();
                for (name, item) in pairs {
                    dict.insert_str(name, self.run(item, value)?);
                }
                Value::dict(dict)
            }
            Node::Call(name, arguments) => functions::call(self, name, arguments, value)?,
            Node::Reference(_) => Value::None,
        })
    }

    /// Evaluates `each` on the items and drops null results.
    fn project(&self, items: Vec<Value>, condition: Option<&Node>, each: &Node) -> Result<Value> {
        let mut found = Vec::new();
        for item in items {
            if let Some(condition) = condition
                && !holds(&self.run(condition, &item)?)
            {
                continue;
            }
            let result = self.run(each, &item)?;
            if !result.is_none() {
                found.push(result);
            }
        }
        Ok(Value::list(found))
    }
}

pub(super) fn is_list(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Tuple(_))
}

/// The truth of a value; unlike in Python, numbers are always true.
fn holds(value: &Value) -> bool {
    match value {
        Value::None | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.borrow().is_empty(),
        Value::Dict(dict) => !dict.borrow().is_empty(),
        _ => true,
    }
}

pub(super) fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Float(_))
}

fn compare(sign: &str, left: &Value, right: &Value) -> Result<Value> {
    // A boolean isn't a number here.
    let same_kind = matches!(left, Value::Bool(_)) == matches!(right, Value::Bool(_));
    let comparison = match sign {
        "==" => return Ok((same_kind && left.equals(right)?).into()),
        "!=" => return Ok((!same_kind || !left.equals(right)?).into()),
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        _ => Comparison::GreaterOrEqual,
    };
    if is_number(left) && is_number(right) {
        return Ok(left.compares(comparison, right)?.into());
    }
    Ok(Value::None)
}

fn field(value: &Value, name: &str) -> Result<Value> {
    Ok(match value {
        Value::Dict(dict) => dict.borrow().get_str(name).cloned().unwrap_or(Value::None),
        Value::Object(object) if object.keys().is_some() => object.get_item(&name.into())?.unwrap_or(Value::None),
        _ => Value::None,
    })
}

fn flatten(list: &Value) -> Result<Value> {
    let mut flat = Vec::new();
    for item in list.to_vec()? {
        if is_list(&item) { flat.extend(item.to_vec()?) } else { flat.push(item) }
    }
    Ok(Value::list(flat))
}
