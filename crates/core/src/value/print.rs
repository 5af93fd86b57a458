//! Prints a value like Python's `str()`, as Salt's users see it.

use std::fmt;

use super::Value;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::String(text) => f.write_str(text),
            Value::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            other => Repr(other).fmt(f),
        }
    }
}

/// Prints like Python's `repr()`.
struct Repr<'a>(&'a Value);

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("None"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(number) => number.fmt(f),
            Value::BigInt(digits) => f.write_str(digits),
            Value::Float(number) => f.write_str(&float(*number)),
            Value::String(text) => quoted(text, f),
            Value::Bytes(bytes) => {
                f.write_str("b")?;
                quoted(&String::from_utf8_lossy(bytes), f)
            }
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Repr(item))?;
                }
                f.write_str("]")
            }
            Value::Map(map) => {
                f.write_str("{")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", Repr(key), Repr(value))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Formats a float as Python's shortest form: `1.0`, `1e+16`, `inf`.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.into();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = number.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    write!(f, "{quote}")?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if (c as u32) < 0x20 || c as u32 == 0x7f => write!(f, "\\x{:02x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "{quote}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_pythons() {
        let cases =
            [(1.0, "1.0"), (0.5, "0.5"), (1e16, "1e+16"), (1e-5, "1e-05"), (123456.789, "123456.789"), (-0.0, "-0.0")];
        for (number, text) in cases {
            assert_eq!(Value::Float(number).to_string(), text);
        }
    }

    #[test]
    fn containers_print_as_pythons() {
        let list = Value::List(vec![Value::Null, Value::Bool(true), "it's".into(), "a\n".into()]);
        assert_eq!(list.to_string(), r#"[None, True, "it's", 'a\n']"#);
    }
}
