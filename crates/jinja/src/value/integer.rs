//! Integers of any size, stored in 64 bits where they fit.

use std::rc::Rc;

use num_bigint::{BigInt, Sign};

use super::Value;

impl Value {
    /// Wraps an integer, in 64 bits if it fits.
    pub fn integer(number: BigInt) -> Value {
        i64::try_from(&number).map_or_else(|_| Value::BigInt(Rc::new(number)), Value::Int)
    }

    /// The value as an integer, if it is an integer or a boolean.
    pub fn as_integer(&self) -> Option<BigInt> {
        match self {
            Value::Int(number) => Some(BigInt::from(*number)),
            Value::Bool(flag) => Some(BigInt::from(i64::from(*flag))),
            Value::BigInt(number) => Some((**number).clone()),
            _ => None,
        }
    }

    /// The value as a float, if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(number) => Some(*number),
            Value::Int(number) => Some(*number as f64),
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            Value::BigInt(number) => Some(to_float(number)),
            _ => None,
        }
    }
}

/// The integer part of a float; `None` if the float isn't finite.
pub(crate) fn of_float(number: f64) -> Option<Value> {
    if !number.is_finite() {
        return None;
    }
    let whole = number.trunc();
    if (-9.2e18..9.2e18).contains(&whole) {
        return Some(Value::Int(whole as i64));
    }
    let bits = whole.abs().to_bits();
    let exponent = (bits >> 52) as usize;
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let sign = if whole < 0.0 { Sign::Minus } else { Sign::Plus };
    // Beyond 2^63 the exponent is greater than that of the mantissa's last bit.
    Some(Value::integer(BigInt::from_biguint(sign, mantissa.into()) << exponent.saturating_sub(1075)))
}

/// The nearest float; infinite if the integer is too large.
pub(crate) fn to_float(number: &BigInt) -> f64 {
    // Decimal digits are parsed with exact rounding.
    number.to_string().parse().unwrap_or(f64::INFINITY)
}

/// Python's floor division with its remainder; `None` if the divisor is zero.
pub(crate) fn divide(a: &BigInt, b: &BigInt) -> Option<(BigInt, BigInt)> {
    if b.sign() == Sign::NoSign {
        return None;
    }
    let (quotient, remainder) = (a / b, a % b);
    if remainder.sign() != Sign::NoSign && (remainder.sign() != b.sign()) {
        return Some((quotient - 1, remainder + b));
    }
    Some((quotient, remainder))
}
