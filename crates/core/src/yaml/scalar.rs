//! Resolves plain scalars as Salt does.

use crate::value::Value;

/// Resolves a scalar without quotes and without a tag.
pub fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    match text.as_bytes()[0] {
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            integer(text).or_else(|| float(text)).unwrap_or_else(|| Value::String(text.to_owned()))
        }
        _ => Value::String(text.to_owned()),
    }
}

fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let clean: String = digits.chars().filter(|c| *c != '_').collect();
    if let Some(binary) = digits.strip_prefix("0b") {
        return number(radix(binary, 2)?, negative);
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        return number(radix(hex, 16)?, negative);
    }
    if digits.contains(':') {
        return sexagesimal(digits).and_then(|total| number(total, negative));
    }
    if !digits.bytes().next()?.is_ascii_digit() || !clean.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if digits.starts_with('0') && digits.len() > 1 {
        // YAML 1.1 reads this as octal, so other digits don't make an integer.
        if !clean.bytes().all(|b| b.is_ascii_digit() && b < b'8') {
            return None;
        }
        // Salt drops the leading zeros instead, but not after a sign: `-0755` is octal.
        if text.starts_with(['-', '+']) {
            return number(radix(&clean, 8)?, negative);
        }
    }
    Value::integer(&format!("{}{clean}", if negative { "-" } else { "" }))
}

fn number(size: u128, negative: bool) -> Option<Value> {
    Value::integer(&format!("{}{size}", if negative { "-" } else { "" }))
}

fn radix(digits: &str, radix: u32) -> Option<u128> {
    let clean: String = digits.chars().filter(|c| *c != '_').collect();
    u128::from_str_radix(&clean, radix).ok().filter(|_| !clean.starts_with('+'))
}

/// Parses base sixty: `12:30` is 750. Every part after the first must be below sixty.
fn sexagesimal(text: &str) -> Option<u128> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    if !first.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return None;
    }
    let mut total = radix(first, 10)?;
    for part in parts {
        let in_range = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        total = total.checked_mul(60)?.checked_add(part.parse::<u128>().ok().filter(|_| in_range)?)?;
    }
    Some(total)
}

/// Parses a float. It needs a dot, and its exponent a sign; `.5` is a float, `-.5` isn't.
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(Value::Float(sign * f64::INFINITY));
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Value::Float(f64::NAN));
    }
    if unsigned.contains(':') {
        return sexagesimal_float(unsigned).map(|number| Value::Float(sign * number));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let starts_well = whole.starts_with(|c: char| c.is_ascii_digit())
        || (whole.is_empty() && text.starts_with('.') && fraction.starts_with(|c: char| c.is_ascii_digit()));
    let exponent_well = exponent.is_none_or(|exponent| {
        exponent.strip_prefix(['-', '+']).is_some_and(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()))
    });
    if !starts_well || !digits(whole) || !digits(fraction) || !exponent_well {
        return None;
    }
    text.replace('_', "").parse().ok().map(Value::Float)
}

/// Parses a float in base sixty: `1:30.5` is 90.5.
fn sexagesimal_float(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.')?;
    let clean: String = fraction.chars().filter(|c| *c != '_').collect();
    let well = whole.starts_with(|c: char| c.is_ascii_digit()) && clean.bytes().all(|b| b.is_ascii_digit());
    let mut total = 0.0;
    for (index, part) in whole.split(':').enumerate() {
        let part = part.replace('_', "").parse::<u32>().ok().filter(|n| index == 0 || *n < 60)?;
        total = total * 60.0 + f64::from(part);
    }
    well.then(|| total + format!("0.{clean}").parse::<f64>().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_salts() {
        let text = |t: &str| Value::String(t.into());
        let cases = [
            ("0755", Value::Int(755)),
            ("0644", Value::Int(644)),
            ("0", Value::Int(0)),
            ("0888", text("0888")),
            ("09", text("09")),
            ("-0755", Value::Int(-493)),
            ("0_755", Value::Int(755)),
            ("1_000", Value::Int(1000)),
            ("0o755", text("0o755")),
            ("0x1F", Value::Int(31)),
            ("0b101", Value::Int(5)),
            ("12:30", Value::Int(750)),
            ("12:30:45", Value::Int(45045)),
            ("190:20:30", Value::Int(685_230)),
            ("1:99", text("1:99")),
            ("on", Value::Bool(true)),
            ("y", text("y")),
            ("None", text("None")),
            ("1e3", text("1e3")),
            ("1.5e3", text("1.5e3")),
            ("1.0e+3", Value::Float(1000.0)),
            ("1.", Value::Float(1.0)),
            ("010.5", Value::Float(10.5)),
            ("-.5", text("-.5")),
            (".5", Value::Float(0.5)),
            ("2024-01-02", text("2024-01-02")),
            ("1.2.3", text("1.2.3")),
            ("-", text("-")),
            ("+", text("+")),
            (".", text(".")),
            ("123456789012345678901234567890", Value::BigInt("123456789012345678901234567890".into())),
        ];
        for (written, meant) in cases {
            assert_eq!(resolve(written), meant, "{written}");
        }
    }
}
