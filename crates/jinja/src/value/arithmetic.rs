//! The operators `+`, `-`, `*`, `/`, `//`, `%` and `**`.

use num_bigint::{BigInt, Sign};

use super::integer::{divide, to_float};
use super::{PythonSet, Value};
use crate::ast::Operator;
use crate::error::{Error, Result};
use crate::filters::escape;
use crate::format;
use crate::methods::View;
use crate::scope::Scope;

/// The largest integer that a power or a product may yield, in bits.
const MAX_BITS: u64 = 1 << 20;

pub fn binary(scope: &Scope<'_>, operator: Operator, left: Value, right: Value) -> Result<Value> {
    if let (Some(a), Some(b)) = (left.as_i64(), right.as_i64())
        && let Some(value) = small(operator, a, b)
    {
        return Ok(value);
    }
    if let Some(value) = containers(scope, operator, &left, &right)? {
        return Ok(value);
    }
    match (&left, &right) {
        (Value::Float(_), other) | (other, Value::Float(_)) if other.as_f64().is_some() => {
            let (Some(a), Some(b)) = (left.as_f64(), right.as_f64()) else {
                return Err(unsupported(operator, &left, &right));
            };
            // As in Python, an integer too large for a float is an error.
            if (a.is_infinite() && !matches!(left, Value::Float(_)))
                || (b.is_infinite() && !matches!(right, Value::Float(_)))
            {
                return Err(Error::exception("OverflowError", "int too large to convert to float"));
            }
            floats(operator, a, b).map(Value::Float)
        }
        _ => match (left.as_integer(), right.as_integer()) {
            (Some(a), Some(b)) => integers(operator, &a, &b),
            _ => Err(unsupported(operator, &left, &right)),
        },
    }
}

/// Applies an operator to texts, lists or sets; `None` for other types.
fn containers(scope: &Scope<'_>, operator: Operator, left: &Value, right: &Value) -> Result<Option<Value>> {
    Ok(Some(match (operator, left, right) {
        (Operator::Add, Value::String(a), Value::String(b)) => {
            scope.check_size(a.len() + b.len())?;
            if a.is_safe() || b.is_safe() {
                Value::safe(format!("{}{}", escape::escaped(left)?, escape::escaped(right)?))
            } else {
                Value::from([&**a, &**b].concat())
            }
        }
        (Operator::Add, Value::List(a), Value::List(b)) => {
            scope.charge(a.borrow().len() + b.borrow().len())?;
            Value::list(a.borrow().iter().chain(b.borrow().iter()).cloned().collect())
        }
        (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => {
            scope.charge(a.borrow().len() + b.borrow().len())?;
            Value::tuple(a.borrow().iter().chain(b.borrow().iter()).cloned().collect())
        }
        (Operator::Add, Value::Bytes(a), Value::Bytes(b)) => {
            scope.check_size(a.len() + b.len())?;
            Value::Bytes([&**a, &**b].concat().into())
        }
        (Operator::Subtract, Value::Set(a), Value::Set(b)) => {
            let b = b.borrow();
            let kept = a.borrow().iter().filter(|item| !b.contains(item).unwrap_or(false)).cloned().collect::<Vec<_>>();
            Value::set(PythonSet::collect(kept)?)
        }
        (Operator::Subtract, Value::Object(_), _) if left.downcast::<View>().is_some_and(View::is_set) => {
            let gone = PythonSet::collect(right.to_vec()?)?;
            let mut kept = PythonSet::new();
            for item in left.to_vec()? {
                if !gone.contains(&item)? {
                    kept.insert(item)?;
                }
            }
            Value::set(kept)
        }
        (Operator::Modulo, Value::String(_), _) => format::percent(scope, left, right)?,
        (Operator::Multiply, repeated, times) | (Operator::Multiply, times, repeated)
            if is_sequence(repeated) && times.as_integer().is_some() =>
        {
            repeat(scope, repeated, times)?
        }
        _ => return Ok(None),
    }))
}

pub fn negative(value: &Value) -> Result<Value> {
    match value {
        Value::Float(number) => Ok(Value::Float(-number)),
        other => match other.as_integer() {
            Some(number) => Ok(Value::integer(-number)),
            None => Err(bad_operand("-", other)),
        },
    }
}

pub fn positive(value: &Value) -> Result<Value> {
    match value {
        Value::Float(_) | Value::Int(_) | Value::BigInt(_) => Ok(value.clone()),
        Value::Bool(flag) => Ok(Value::Int(i64::from(*flag))),
        other => Err(bad_operand("+", other)),
    }
}

fn bad_operand(sign: &str, value: &Value) -> Error {
    match value {
        Value::Undefined(undefined) => undefined.error(),
        other => Error::type_error(format!("bad operand type for unary {sign}: '{}'", other.type_name())),
    }
}

/// Calculates in 64 bits; `None` if the result doesn't fit.
fn small(operator: Operator, a: i64, b: i64) -> Option<Value> {
    let value = match operator {
        Operator::Add => a.checked_add(b)?,
        Operator::Subtract => a.checked_sub(b)?,
        Operator::Multiply => a.checked_mul(b)?,
        Operator::FloorDivide if b != 0 => {
            let quotient = a.checked_div(b)?;
            if (a % b != 0) && ((a < 0) != (b < 0)) { quotient - 1 } else { quotient }
        }
        Operator::Modulo if b != 0 => {
            let rest = a.checked_rem(b)?;
            if rest != 0 && ((rest < 0) != (b < 0)) { rest + b } else { rest }
        }
        Operator::Power if b >= 0 => a.checked_pow(u32::try_from(b).ok()?)?,
        _ => return None,
    };
    Some(Value::Int(value))
}

fn integers(operator: Operator, a: &BigInt, b: &BigInt) -> Result<Value> {
    let zero = |message: &str| Error::exception("ZeroDivisionError", message);
    Ok(match operator {
        Operator::Add => Value::integer(a + b),
        Operator::Subtract => Value::integer(a - b),
        Operator::Multiply => {
            check_bits(a.bits() + b.bits())?;
            Value::integer(a * b)
        }
        Operator::FloorDivide => {
            Value::integer(divide(a, b).ok_or_else(|| zero("integer division or modulo by zero"))?.0)
        }
        Operator::Modulo => Value::integer(divide(a, b).ok_or_else(|| zero("integer modulo by zero"))?.1),
        Operator::Divide => {
            if b.sign() == Sign::NoSign {
                return Err(zero("division by zero"));
            }
            let (x, y) = (to_float(a), to_float(b));
            if x.is_infinite() || y.is_infinite() || a.bits() > 53 || b.bits() > 53 {
                return exact_quotient(a, b).map(Value::Float);
            }
            Value::Float(x / y)
        }
        Operator::Power => {
            if b.sign() == Sign::Minus {
                if a.sign() == Sign::NoSign {
                    return Err(zero("0.0 cannot be raised to a negative power"));
                }
                return Ok(Value::Float(to_float(a).powf(to_float(b))));
            }
            if a.bits() <= 1 {
                // 0, 1 and -1 stay small, whatever the exponent is.
                let odd = b.bit(0);
                return Ok(Value::integer(if b.sign() == Sign::NoSign {
                    BigInt::from(1)
                } else if a.sign() == Sign::Minus && !odd {
                    -a
                } else {
                    a.clone()
                }));
            }
            let exponent = u32::try_from(b).map_err(|_| too_large())?;
            check_bits(a.bits().saturating_mul(u64::from(exponent)))?;
            Value::integer(a.pow(exponent))
        }
    })
}

/// Divides with correct rounding, also where the integers are too large for floats.
fn exact_quotient(a: &BigInt, b: &BigInt) -> Result<f64> {
    // The quotient has enough bits for the mantissa and for rounding; a sticky bit stands for the rest.
    let shift = 66 + b.bits() as i64 - a.bits() as i64;
    let (x, y) = if shift > 0 { (a << shift as u64, b.clone()) } else { (a.clone(), b << (-shift) as u64) };
    let (quotient, rest) = (&x / &y, &x % &y);
    let sticky = if rest.sign() == Sign::NoSign { BigInt::from(0) } else { BigInt::from(1) };
    let digits: BigInt = quotient * 2 + if a.sign() == b.sign() { sticky } else { -sticky };
    let value = to_float(&digits) * 2f64.powi(i32::try_from(-shift - 1).unwrap_or(i32::MIN));
    if value.is_infinite() {
        return Err(Error::exception("OverflowError", "integer division result too large for a float"));
    }
    Ok(value)
}

fn check_bits(bits: u64) -> Result<()> {
    if bits > MAX_BITS { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> Error {
    Error::limit("an integer would be too large")
}

fn floats(operator: Operator, a: f64, b: f64) -> Result<f64> {
    let zero = |message: &str| Err(Error::exception("ZeroDivisionError", message));
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if b == 0.0 => return zero("float division by zero"),
        Operator::Divide => a / b,
        Operator::FloorDivide if b == 0.0 => return zero("float floor division by zero"),
        Operator::FloorDivide => {
            let rest = remainder(a, b);
            let quotient = (a - rest) / b;
            let whole = quotient.floor();
            if quotient - whole > 0.5 { whole + 1.0 } else { whole }
        }
        Operator::Modulo if b == 0.0 => return zero("float modulo"),
        Operator::Modulo => remainder(a, b),
        Operator::Power => {
            if a == 0.0 && b < 0.0 {
                return zero("0.0 cannot be raised to a negative power");
            }
            let value = a.powf(b);
            if value.is_nan() && !a.is_nan() && !b.is_nan() {
                return Err(Error::value_error("a power that is a complex number is not supported"));
            }
            if value.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(Error::exception("OverflowError", "(34, 'Numerical result out of range')"));
            }
            value
        }
    })
}

fn remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        return rest + b;
    }
    if rest == 0.0 { 0f64.copysign(b) } else { rest }
}

fn is_sequence(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::List(_) | Value::Tuple(_) | Value::Bytes(_))
}

fn repeat(scope: &Scope<'_>, value: &Value, times: &Value) -> Result<Value> {
    let times = match times {
        Value::BigInt(number) if number.sign() == Sign::Minus => 0,
        Value::BigInt(_) => usize::MAX,
        other => usize::try_from(other.as_i64().unwrap_or(0)).unwrap_or(0),
    };
    let items = |items: &[Value]| -> Result<Vec<Value>> {
        let count = items.len().saturating_mul(times);
        scope.check_size(count.saturating_mul(size_of::<Value>()))?;
        scope.charge(count)?;
        Ok(std::iter::repeat_n(items, times).flatten().cloned().collect())
    };
    Ok(match value {
        Value::String(text) => {
            scope.check_size(text.len().saturating_mul(times))?;
            let repeated = if text.is_empty() { String::new() } else { text.repeat(times) };
            if text.is_safe() { Value::safe(repeated) } else { repeated.into() }
        }
        Value::Bytes(bytes) => {
            scope.check_size(bytes.len().saturating_mul(times))?;
            Value::Bytes(if bytes.is_empty() { Vec::new() } else { bytes.repeat(times) }.into())
        }
        Value::List(list) => Value::list(items(&list.borrow())?),
        Value::Tuple(tuple) => Value::tuple(items(&tuple.borrow())?),
        other => other.clone(),
    })
}

fn unsupported(operator: Operator, left: &Value, right: &Value) -> Error {
    let (a, b) = (left.type_name(), right.type_name());
    let sign = match operator {
        Operator::Add => {
            // Sequences have their own error text.
            match left {
                Value::String(_) => {
                    return Error::type_error(format!("can only concatenate str (not \"{b}\") to str"));
                }
                Value::List(_) => {
                    return Error::type_error(format!("can only concatenate list (not \"{b}\") to list"));
                }
                Value::Tuple(_) => {
                    return Error::type_error(format!("can only concatenate tuple (not \"{b}\") to tuple"));
                }
                Value::Bytes(_) => return Error::type_error(format!("can't concat {b} to bytes")),
                _ => "+",
            }
        }
        Operator::Multiply => {
            if is_sequence(left) {
                return Error::type_error(format!("can't multiply sequence by non-int of type '{b}'"));
            }
            if is_sequence(right) {
                return Error::type_error(format!("can't multiply sequence by non-int of type '{a}'"));
            }
            "*"
        }
        Operator::Subtract => "-",
        Operator::Divide => "/",
        Operator::FloorDivide => "//",
        Operator::Modulo => "%",
        Operator::Power => "** or pow()",
    };
    Error::type_error(format!("unsupported operand type(s) for {sign}: '{a}' and '{b}'"))
}
