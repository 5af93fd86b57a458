//! Methods of numbers.

use num_bigint::{BigInt, Sign};

use super::MethodFunction;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::integer::of_float;
use crate::value::{Value, float_text};

pub fn find(value: &Value, name: &str) -> Option<MethodFunction> {
    Some(match (name, value) {
        ("is_integer", Value::Float(_)) => is_integer,
        ("bit_length", Value::Int(_) | Value::BigInt(_) | Value::Bool(_)) => bit_length,
        ("bit_count", Value::Int(_) | Value::BigInt(_) | Value::Bool(_)) => bit_count,
        ("conjugate", _) => conjugate,
        ("as_integer_ratio", _) => as_integer_ratio,
        ("hex", Value::Float(_)) => hex,
        ("to_bytes", Value::Int(_) | Value::BigInt(_) | Value::Bool(_)) => to_bytes,
        _ => return None,
    })
}

/// The attributes of numbers that aren't methods.
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

fn is_integer(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_f64().is_some_and(|number| number == number.trunc() && number.is_finite()).into())
}

fn bit_length(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_integer().map_or(0, |number| number.bits()).into())
}

fn bit_count(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.as_integer().map_or(0, |number| number.magnitude().count_ones()).into())
}

fn conjugate(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.clone())
}

fn as_integer_ratio(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let Value::Float(number) = value else {
        return Ok(Value::tuple(vec![value.as_integer().map_or(Value::None, Value::integer), Value::Int(1)]));
    };
    let kind = if number.is_nan() { "NaN" } else { "Infinity" };
    if !number.is_finite() {
        let exception = if number.is_nan() { "ValueError" } else { "OverflowError" };
        return Err(Error::exception(exception, format!("cannot convert {kind} to integer ratio")));
    }
    let (mut numerator, mut denominator) = (*number, BigInt::from(1));
    // A float is an integer times a power of two, so the loop ends.
    while numerator != numerator.trunc() {
        numerator *= 2.0;
        denominator *= 2;
    }
    Ok(Value::tuple(vec![of_float(numerator).unwrap_or(Value::None), Value::integer(denominator)]))
}

fn hex(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let number = value.as_f64().unwrap_or_default();
    if !number.is_finite() {
        return Ok(float_text(number).into());
    }
    let bits = number.to_bits();
    let (exponent, mantissa) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let sign = if number.is_sign_negative() { "-" } else { "" };
    Ok(match (exponent, mantissa) {
        (0, 0) => format!("{sign}0x0.0p+0"),
        (0, _) => format!("{sign}0x0.{mantissa:013x}p-1022"),
        _ => format!("{sign}0x1.{mantissa:013x}p{:+}", exponent as i64 - 1023),
    }
    .into())
}

fn to_bytes(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let length = arguments.integer("length", 1)?.max(0) as usize;
    let order = arguments.text("byteorder", "big")?;
    let signed = arguments.keyword("signed").map_or(Ok(false), |flag| flag.truth())?;
    arguments.finish()?;
    scope.check_size(length)?;
    let number = value.as_integer().unwrap_or_default();
    if number.sign() == Sign::Minus && !signed {
        return Err(Error::exception("OverflowError", "can't convert negative int to unsigned"));
    }
    let mut bytes = if signed { number.to_signed_bytes_le() } else { number.to_bytes_le().1 };
    if number.sign() == Sign::NoSign {
        bytes.clear();
    }
    if bytes.len() > length {
        return Err(Error::exception("OverflowError", "int too big to convert"));
    }
    bytes.resize(length, if number.sign() == Sign::Minus { 0xff } else { 0 });
    match order.as_str() {
        "little" => {}
        "big" => bytes.reverse(),
        _ => return Err(Error::value_error("byteorder must be either 'little' or 'big'")),
    }
    Ok(Value::Bytes(bytes.into()))
}
