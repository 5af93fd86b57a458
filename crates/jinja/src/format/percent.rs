//! `'…' % values`: Python's percent formatting.

use super::number::{fixed, general, scientific};
use crate::error::{Error, Result};
use crate::filters::escape;
use crate::scope::Scope;
use crate::value::integer::of_float;
use crate::value::{Value, quoted};

/// Formats a text. Safe text escapes the inserted values and stays safe.
pub fn percent(scope: &Scope<'_>, template: &Value, values: &Value) -> Result<Value> {
    let Value::String(text) = template else { return Err(Error::type_error("must be str")) };
    let mut formatter = PercentFormatter {
        scope,
        safe: text.is_safe(),
        values: match values {
            Value::Tuple(items) => items.borrow().clone(),
            other => vec![other.clone()],
        },
        mapping: matches!(values, Value::Dict(_)).then(|| values.clone()),
        next: 0,
    };
    let out = formatter.run(text)?;
    let used_up = formatter.next >= formatter.values.len();
    // Python treats lists as mappings here, and a mapping's values may stay unused.
    if !used_up && !matches!(values, Value::Dict(_) | Value::List(_) | Value::Object(_)) {
        return Err(Error::type_error("not all arguments converted during string formatting"));
    }
    Ok(if text.is_safe() { Value::safe(out) } else { out.into() })
}

struct PercentFormatter<'a, 'b> {
    scope: &'a Scope<'b>,
    safe: bool,
    values: Vec<Value>,
    mapping: Option<Value>,
    next: usize,
}

type Letters<'t> = std::iter::Peekable<std::str::CharIndices<'t>>;

/// Parses `(name)`, in which parentheses may nest.
fn key(chars: &mut Letters<'_>) -> Result<Option<String>> {
    if chars.peek().is_none_or(|(_, c)| *c != '(') {
        return Ok(None);
    }
    chars.next();
    let (mut depth, mut name) = (1, String::new());
    loop {
        let (_, c) = chars.next().ok_or_else(|| Error::value_error("incomplete format key"))?;
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(Some(name));
        }
        name.push(c);
    }
}

#[derive(Default)]
struct PercentDirective {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl PercentFormatter<'_, '_> {
    fn run(&mut self, text: &str) -> Result<String> {
        let mut out = String::new();
        let mut chars = text.char_indices().peekable();
        while let Some((_, c)) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let value_of_key = match key(&mut chars)? {
                Some(name) => Some(self.by_key(&name)?),
                None => None,
            };
            let directive = self.directive(&mut chars)?;
            let (at, kind) = chars.next().ok_or_else(|| Error::value_error("incomplete format"))?;
            self.scope.check_size(directive.width.saturating_add(directive.precision.unwrap_or(0)))?;
            if kind == '%' {
                out.push('%');
                continue;
            }
            if !matches!(
                kind,
                'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'c' | 'r' | 's' | 'a'
            ) {
                let index = text[..at].chars().count();
                return Err(Error::value_error(format!(
                    "unsupported format character '{kind}' ({:#x}) at index {index}",
                    kind as u32
                )));
            }
            let value = match value_of_key {
                Some(value) => value,
                None => self.next_value()?,
            };
            out.push_str(&self.one(&directive, kind, &value)?);
            self.scope.check_size(out.len())?;
        }
        Ok(out)
    }

    /// Parses flags, width, precision and a length modifier, which is ignored.
    fn directive(&mut self, chars: &mut Letters<'_>) -> Result<PercentDirective> {
        let mut directive = PercentDirective::default();
        while let Some((_, c)) = chars.peek() {
            match c {
                '-' => directive.left = true,
                '+' => directive.plus = true,
                ' ' => directive.space = true,
                '#' => directive.alternate = true,
                '0' => directive.zero = true,
                _ => break,
            }
            chars.next();
        }
        if let Some(width) = self.number(chars)? {
            directive.left |= width < 0;
            directive.width = width.unsigned_abs() as usize;
        }
        if chars.peek().is_some_and(|(_, c)| *c == '.') {
            chars.next();
            directive.precision = Some(self.number(chars)?.unwrap_or(0).max(0) as usize);
        }
        while chars.peek().is_some_and(|(_, c)| matches!(c, 'h' | 'l' | 'L')) {
            chars.next();
        }
        Ok(directive)
    }

    fn next_value(&mut self) -> Result<Value> {
        let value = self.values.get(self.next).cloned();
        self.next += 1;
        value.ok_or_else(|| Error::type_error("not enough arguments for format string"))
    }

    fn by_key(&self, name: &str) -> Result<Value> {
        let Some(mapping) = &self.mapping else { return Err(Error::type_error("format requires a mapping")) };
        mapping.get_item(&name.into())?.ok_or_else(|| Error::exception("KeyError", quoted(name)))
    }

    /// Parses a number, or takes the next value for `*`.
    fn number(&mut self, chars: &mut Letters<'_>) -> Result<Option<i64>> {
        if chars.peek().is_some_and(|(_, c)| *c == '*') {
            chars.next();
            let value = self.next_value()?;
            return value.as_i64().map(Some).ok_or_else(|| Error::type_error("* wants int"));
        }
        let mut number = None;
        while let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(10)) {
            chars.next();
            number = Some(number.unwrap_or(0i64).saturating_mul(10).saturating_add(i64::from(digit)));
        }
        Ok(number)
    }

    fn one(&self, directive: &PercentDirective, kind: char, value: &Value) -> Result<String> {
        match kind {
            's' | 'r' | 'a' => {
                let text = match kind {
                    's' if self.safe => escape::escaped(value)?,
                    's' => value.to_text()?,
                    'r' if self.safe => escape::escaped(&value.repr()?.into())?,
                    'r' => value.repr()?,
                    _ => ascii(&value.repr()?),
                };
                let cut: String = match directive.precision {
                    Some(precision) => text.chars().take(precision).collect(),
                    None => text,
                };
                Ok(directive.pad("", &cut, false))
            }
            'c' => match value {
                Value::String(text) if text.chars().count() == 1 => Ok(directive.pad("", text, false)),
                Value::Int(_) | Value::Bool(_) | Value::BigInt(_) => {
                    let c = value.as_i64().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
                    let c = c.ok_or_else(|| Error::exception("OverflowError", "%c arg not in range(0x110000)"))?;
                    Ok(directive.pad("", &c.to_string(), false))
                }
                _ => Err(Error::type_error("%c requires int or char")),
            },
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let Some(number) = value.as_f64() else {
                    value.must_be_usable()?;
                    return Err(Error::type_error(format!("must be real number, not {}", value.type_name())));
                };
                let precision = directive.precision.unwrap_or(6);
                let upper = kind.is_ascii_uppercase();
                let digits = match kind {
                    'e' | 'E' => scientific(number, precision, upper),
                    'f' | 'F' => fixed(number, precision),
                    _ => general(number, precision, upper, directive.alternate),
                };
                let digits = if upper { digits.to_uppercase() } else { digits };
                Ok(directive.pad(directive.sign(number.is_sign_negative() && !number.is_nan()), &digits, true))
            }
            _ => self.integer(directive, kind, value),
        }
    }

    fn integer(&self, directive: &PercentDirective, kind: char, value: &Value) -> Result<String> {
        let decimal = matches!(kind, 'd' | 'i' | 'u');
        let number = match value {
            Value::Float(number) if decimal => {
                of_float(*number).ok_or_else(|| Error::value_error("cannot convert float NaN to integer"))?.as_integer()
            }
            other => other.as_integer(),
        };
        let Some(number) = number else {
            value.must_be_usable()?;
            let wanted = if decimal { "a real number is required" } else { "an integer is required" };
            return Err(Error::type_error(format!("%{kind} format: {wanted}, not {}", value.type_name())));
        };
        let size = number.magnitude();
        let (mut digits, prefix) = match kind {
            'o' => (size.to_str_radix(8), "0o"),
            'x' => (size.to_str_radix(16), "0x"),
            'X' => (size.to_str_radix(16).to_uppercase(), "0X"),
            _ => (size.to_string(), ""),
        };
        if let Some(precision) = directive.precision {
            digits = format!("{digits:0>precision$}");
        }
        let mut sign = directive.sign(number.sign() == num_bigint::Sign::Minus).to_owned();
        if directive.alternate {
            sign.push_str(prefix);
        }
        Ok(directive.pad(&sign, &digits, true))
    }
}

impl PercentDirective {
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn pad(&self, sign: &str, body: &str, number: bool) -> String {
        let length = sign.chars().count() + body.chars().count();
        let missing = self.width.saturating_sub(length);
        if self.left {
            format!("{sign}{body}{}", " ".repeat(missing))
        } else if self.zero && number {
            format!("{sign}{}{body}", "0".repeat(missing))
        } else {
            format!("{}{sign}{body}", " ".repeat(missing))
        }
    }
}

/// Escapes a repr as Python's `ascii()` does.
pub fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c as u32 {
            0..=0x7f => out.push(c),
            code @ 0x80..=0xff => out.push_str(&format!("\\x{code:02x}")),
            code @ 0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out
}
