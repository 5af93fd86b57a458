//! Methods of numbers.

use super::Method;
use crate::arguments::Arguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::Value;

pub fn find(value: &Value, name: &str) -> Option<Method> {
    Some(match (name, value) {
        ("is_integer", Value::Float(_)) => is_integer,
        ("bit_length", Value::Int(_) | Value::BigInt(_) | Value::Bool(_)) => bit_length,
        ("bit_count", Value::Int(_) | Value::BigInt(_) | Value::Bool(_)) => bit_count,
        ("conjugate", _) => conjugate,
        _ => return None,
    })
}

/// What is an attribute and no method.
pub fn attribute(value: &Value, name: &str) -> Option<Value> {
    let whole = matches!(value, Value::Bool(_) | Value::Int(_) | Value::BigInt(_));
    match (name, value) {
        ("real", Value::Float(_)) => Some(value.clone()),
        ("imag", Value::Float(_)) => Some(Value::Float(0.0)),
        ("real" | "numerator", _) if whole => value.as_integer().map(Value::integer),
        ("imag", _) if whole => Some(Value::Int(0)),
        ("denominator", _) if whole => Some(Value::Int(1)),
        _ => None,
    }
}

fn is_integer(_: &Scope<'_>, value: &Value, arguments: Arguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_f64().is_some_and(|number| number == number.trunc() && number.is_finite()).into())
}

fn bit_length(_: &Scope<'_>, value: &Value, arguments: Arguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_integer().map_or(0, |number| number.bits()).into())
}

fn bit_count(_: &Scope<'_>, value: &Value, arguments: Arguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_integer().map_or(0, |number| number.magnitude().count_ones()).into())
}

fn conjugate(_: &Scope<'_>, value: &Value, arguments: Arguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.clone())
}
