//! The comparisons `==`, `<` and the like.

use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use super::integer::of_float;
use super::{Dict, Value, visit};
use crate::error::{Error, Result};

/// An ordering operator, with its sign for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn sign(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Value {
    /// Compares like Python's `==`; fails for a strict undefined.
    pub fn equals(&self, other: &Value) -> Result<bool> {
        equals(self, other, 0, &Cell::new(0))
    }

    /// Compares like Python's `<` and the like.
    pub fn compares(&self, comparison: Comparison, other: &Value) -> Result<bool> {
        if let (Value::Set(a), Value::Set(b)) = (self, other) {
            let (a, b) = (a.borrow(), b.borrow());
            let within =
                |a: &super::PythonSet, b: &super::PythonSet| a.iter().all(|item| b.contains(item).unwrap_or(false));
            return Ok(match comparison {
                Comparison::Less => a.len() < b.len() && within(&a, &b),
                Comparison::LessOrEqual => within(&a, &b),
                Comparison::Greater => a.len() > b.len() && within(&b, &a),
                Comparison::GreaterOrEqual => within(&b, &a),
            });
        }
        Ok(order(self, other, comparison, 0, &Cell::new(0))?.is_some_and(|ordering| comparison.holds(ordering)))
    }

    /// Orders values for sorting; fails if they can't be compared.
    pub fn order(&self, other: &Value) -> Result<Ordering> {
        Ok(order(self, other, Comparison::Less, 0, &Cell::new(0))?.unwrap_or(Ordering::Equal))
    }
}

fn equals(a: &Value, b: &Value, depth: usize, visits: &Cell<usize>) -> Result<bool> {
    visit(visits, depth, "comparing")?;
    Ok(match (a, b) {
        (Value::String(a), Value::String(b)) => **a == **b,
        (Value::None, Value::None) => true,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            if Rc::ptr_eq(a, b) {
                return Ok(true);
            }
            let (a, b) = (a.borrow(), b.borrow());
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !(a.same(b) || equals(a, b, depth + 1, visits)?) {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Dict(a), Value::Dict(b)) => {
            if Rc::ptr_eq(a, b) {
                return Ok(true);
            }
            dict_equals(&a.borrow(), &b.borrow(), depth, visits)?
        }
        (Value::Set(a), Value::Set(b)) => {
            let (a, b) = (a.borrow(), b.borrow());
            a.len() == b.len() && a.iter().all(|item| b.contains(item).unwrap_or(false))
        }
        (Value::Undefined(x), Value::Undefined(y)) => {
            a.must_be_usable()?;
            b.must_be_usable()?;
            x.kind == y.kind
        }
        (Value::Undefined(_), other) | (other, Value::Undefined(_)) => {
            a.must_be_usable()?;
            other.must_be_usable()?;
            b.must_be_usable()?;
            false
        }
        (Value::Object(object), other) | (other, Value::Object(object)) => match object.equals(other) {
            Some(equal) => equal,
            None => match other {
                Value::Object(second) => object_equals(a, b, second.equals(&Value::Object(Rc::clone(object)))),
                _ => false,
            },
        },
        _ => numbers(a, b).is_some_and(|ordering| ordering == Some(Ordering::Equal)),
    })
}

fn dict_equals(a: &Dict, b: &Dict, depth: usize, visits: &Cell<usize>) -> Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (key, value) in a.iter() {
        match b.get(key)? {
            Some(other) if value.same(other) || equals(value, other, depth + 1, visits)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn object_equals(a: &Value, b: &Value, second: Option<bool>) -> bool {
    second.unwrap_or_else(|| a.same(b))
}

/// Orders two numbers: `None` if one isn't a number, `Some(None)` if one is NaN.
fn numbers(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    let number = |value: &Value| matches!(value, Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_));
    if !number(a) || !number(b) {
        return None;
    }
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return Some(Some(a.cmp(&b)));
    }
    Some(match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Float(float), whole) => with_float(whole, *float).map(Ordering::reverse),
        (whole, Value::Float(float)) => with_float(whole, *float),
        (a, b) => Some(a.as_integer().cmp(&b.as_integer())),
    })
}

/// Compares an integer with a float exactly, as Python does: the integer isn't rounded.
fn with_float(whole: &Value, float: f64) -> Option<Ordering> {
    match of_float(float) {
        Some(truncated) => {
            let ordering = whole.as_integer().cmp(&truncated.as_integer());
            let rest = float - float.trunc();
            Some(ordering.then(if rest > 0.0 {
                Ordering::Less
            } else if rest < 0.0 {
                Ordering::Greater
            } else {
                Ordering::Equal
            }))
        }
        None if float.is_nan() => None,
        None => Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater }),
    }
}

fn order(a: &Value, b: &Value, comparison: Comparison, depth: usize, visits: &Cell<usize>) -> Result<Option<Ordering>> {
    visit(visits, depth, "comparing")?;
    if let Some(ordering) = numbers(a, b) {
        return Ok(ordering);
    }
    match (a, b) {
        (Value::String(a), Value::String(b)) => Ok(Some((**a).cmp(&**b))),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(a.cmp(b))),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            let (a, b) = (a.borrow(), b.borrow());
            for (a, b) in a.iter().zip(b.iter()) {
                if !(a.same(b) || equals(a, b, depth + 1, visits)?) {
                    return order(a, b, comparison, depth + 1, visits);
                }
            }
            Ok(Some(a.len().cmp(&b.len())))
        }
        _ => {
            a.must_be_defined()?;
            b.must_be_defined()?;
            Err(Error::type_error(format!(
                "'{}' not supported between instances of '{}' and '{}'",
                comparison.sign(),
                a.type_name(),
                b.type_name()
            )))
        }
    }
}
