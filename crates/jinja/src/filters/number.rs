//! Filters on numbers.

use num_bigint::BigInt;

use super::attribute::Path;
use crate::arguments::FunctionArguments;
use crate::ast::Operator;
use crate::error::{Error, Result};
use crate::format;
use crate::methods;
use crate::scope::Scope;
use crate::value::integer::of_float;
use crate::value::{Value, arithmetic};

pub fn abs(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    match &value {
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other => match other.as_integer() {
            Some(number) => Ok(Value::integer(BigInt::from(number.magnitude().clone()))),
            None => {
                other.must_be_defined()?;
                Err(Error::type_error(format!("bad operand type for abs(): '{}'", other.type_name())))
            }
        },
    }
}

pub fn int(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let default = arguments.or("default", 0)?;
    let base = arguments.or("base", 10)?;
    arguments.finish()?;
    value.must_be_defined()?;
    // A base that isn't a number is invalid, so that no text parses.
    let base = base.as_i64().unwrap_or(-1);
    let whole = match &value {
        Value::String(text) => parse_integer(text, base),
        Value::Float(number) => of_float(*number),
        other => other.as_integer().map(Value::integer),
    };
    // As in Jinja, "42.9" converts to 42.
    Ok(whole.or_else(|| parse_float(value.as_str()?).and_then(of_float)).unwrap_or(default))
}

/// Python's `int(text, base)`.
pub(crate) fn parse_integer(text: &str, base: i64) -> Option<Value> {
    let text = methods::ascii_digits(text.trim_matches(methods::is_space));
    let text = text.as_str();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match (base, lower.get(..2)) {
        (0 | 16, Some("0x")) => (16, &digits[2..]),
        (0 | 8, Some("0o")) => (8, &digits[2..]),
        (0 | 2, Some("0b")) => (2, &digits[2..]),
        (0, _) => (10, digits),
        (base @ 2..=36, _) => (base as u32, digits),
        _ => return None,
    };
    let well_formed = !digits.is_empty()
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__")
        && digits.len() <= 4300;
    if !well_formed || digits.starts_with(['+', '-']) {
        return None;
    }
    let digits = digits.replace('_', "");
    let number = BigInt::parse_bytes(digits.as_bytes(), base)?;
    Some(Value::integer(if negative { -number } else { number }))
}

/// Python's `float(text)`.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = methods::ascii_digits(text.trim_matches(methods::is_space));
    let text = text.as_str();
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-' | b'_'));
    if plain {
        let bytes = text.as_bytes();
        let misplaced = bytes.iter().enumerate().any(|(at, byte)| {
            let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
            *byte == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1)))
        });
        return if misplaced { None } else { text.replace('_', "").parse().ok() };
    }
    match text.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "inf" | "infinity" => Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ => None,
    }
}

pub fn float(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let default = arguments.or("default", 0.0)?;
    arguments.finish()?;
    value.must_be_defined()?;
    Ok(match &value {
        Value::String(text) => parse_float(text).map_or(default, Value::Float),
        Value::BigInt(_) if value.as_f64().is_some_and(f64::is_infinite) => {
            return Err(Error::exception("OverflowError", "int too large to convert to float"));
        }
        other => other.as_f64().map_or(default, Value::Float),
    })
}

pub fn round(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let precision = arguments.integer("precision", 0)?;
    let method = arguments.text("method", "common")?;
    arguments.finish()?;
    if !matches!(method.as_str(), "common" | "ceil" | "floor") {
        return Err(Error::filter_argument("method must be common, ceil or floor"));
    }
    let Some(number) = value.as_f64() else {
        value.must_be_defined()?;
        let message = match method.as_str() {
            "common" => format!("type {} doesn't define __round__ method", value.type_name()),
            _ => format!("must be real number, not {}", value.type_name()),
        };
        return Err(Error::type_error(message));
    };
    let digits = precision.clamp(-400, 400) as i32;
    if method == "common" {
        if let Some(whole) = value.as_integer() {
            return Ok(Value::integer(if digits >= 0 { whole } else { round_integer(&whole, digits.unsigned_abs()) }));
        }
        return Ok(Value::Float(round_float(number, digits)));
    }
    let factor = 10f64.powi(digits);
    let scaled = number * factor;
    let rounded = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
    if !rounded.is_finite() {
        return Err(Error::exception("OverflowError", "cannot convert float infinity to integer"));
    }
    Ok(Value::Float((rounded + 0.0) / factor))
}

/// Rounds to the nearest value, and ties to even, by the exact value as Python does.
fn round_float(number: f64, digits: i32) -> f64 {
    if !number.is_finite() {
        return number;
    }
    if digits >= 0 {
        return format!("{number:.*}", digits as usize).parse().unwrap_or(number);
    }
    let factor = 10f64.powi(-digits);
    if factor.is_infinite() {
        return 0f64.copysign(number);
    }
    (number / factor).round_ties_even() * factor
}

fn round_integer(number: &BigInt, digits: u32) -> BigInt {
    let factor = BigInt::from(10).pow(digits.min(400));
    let Some((quotient, rest)) = crate::value::integer::divide(number, &factor) else { return number.clone() };
    let twice = &rest * 2;
    let up = twice > factor || (twice == factor && quotient.bit(0));
    (quotient + i32::from(up)) * factor
}

pub fn sum(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let attribute = arguments.optional("attribute")?;
    let mut total = arguments.or("start", 0)?;
    arguments.finish()?;
    let path = Path::new(attribute.as_ref(), None);
    for item in value.iterate()? {
        let item = path.get(scope, &item?)?;
        item.must_be_defined()?;
        if matches!(total, Value::String(_)) {
            return Err(Error::type_error("sum() can't sum strings [use ''.join(seq) instead]"));
        }
        scope.charge(1)?;
        total = arithmetic::binary(scope, Operator::Add, total, item)?;
    }
    Ok(total)
}

pub fn filesizeformat(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let binary = arguments.flag("binary", false)?;
    arguments.finish()?;
    let size = match &value {
        Value::String(text) => parse_float(text).ok_or_else(|| {
            Error::value_error(format!("could not convert string to float: {}", crate::value::quoted(text)))
        })?,
        other => match other.as_f64() {
            Some(number) => number,
            None => {
                other.must_be_defined()?;
                let type_name = other.type_name();
                return Err(Error::type_error(format!(
                    "float() argument must be a string or a real number, not '{type_name}'"
                )));
            }
        },
    };
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if size == 1.0 {
        return Ok("1 Byte".into());
    }
    if size < base {
        // Adding 0.0 removes the sign of a negative zero.
        return Ok(format!("{} Bytes", size.trunc() + 0.0).into());
    }
    let units = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    let mut unit = base;
    for (index, name) in units.iter().enumerate() {
        unit *= base;
        if size < unit || index + 1 == units.len() {
            return Ok(format!("{} {name}", format::fixed(base * size / unit, 1)).into());
        }
    }
    Ok(Value::None)
}
