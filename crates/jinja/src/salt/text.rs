//! Filters on strings.

use rocksalt_core::pattern::{Flags, Pattern, glob};

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

/// The text of a value; fails if it isn't a string.
pub(super) fn string(value: &Value) -> Result<&str> {
    value
        .as_str()
        .ok_or_else(|| Error::type_error(format!("expected string or bytes-like object, got '{}'", value.type_name())))
}

/// The bytes of a string or of bytes.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => Ok(bytes.to_vec()),
        other => {
            Err(Error::type_error(format!("expected str, bytes, or bytearray not <class '{}'>", other.type_name())))
        }
    }
}

pub(super) fn to_bytes(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let encoding = arguments.optional("encoding")?;
    let errors = arguments.optional("errors")?;
    arguments.finish()?;
    match (&value, encoding) {
        (Value::String(_), Some(encoding)) if !encoding.is_none() => {
            let method = value.attribute("encode", scope.undefined_kind())?;
            let mut given = vec![encoding];
            given.extend(errors);
            scope.call(&method, FunctionArguments::of(given))
        }
        _ => Ok(Value::Bytes(bytes(&value)?.into())),
    }
}

pub(super) fn to_bool(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(Value::Bool(match &value {
        Value::Bool(flag) => *flag,
        Value::String(text) => matches!(text.to_lowercase().as_str(), "yes" | "1" | "true"),
        Value::Int(number) => *number > 0,
        Value::BigInt(number) => number.sign() == num_bigint::Sign::Plus,
        Value::List(_) | Value::Dict(_) | Value::Set(_) => value.len()? > 0,
        _ => false,
    }))
}

pub(super) fn quote(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let text = string(&value)?;
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    Ok(if text.is_empty() {
        "''".into()
    } else if text.chars().all(safe) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\"'\"'")).into()
    })
}

pub(super) fn skip(_: &Scope<'_>, _: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok("".into())
}

pub(super) fn sequence(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(match value {
        Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Dict(_) => value,
        other => Value::list(vec![other]),
    })
}

pub(super) fn to_num(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    match &value {
        Value::String(text) => Ok(number(text).unwrap_or(value)),
        Value::Float(float) if float.is_finite() => {
            let text = format!("{float:.0}");
            let whole = if float.fract() == 0.0 { text } else { format!("{:.0}", float.trunc()) };
            Ok(integer(&whole).unwrap_or(value))
        }
        Value::Bool(flag) => Ok(Value::Int(i64::from(*flag))),
        Value::Int(_) | Value::BigInt(_) => Ok(value),
        other => {
            other.must_be_defined()?;
            Err(Error::type_error(format!(
                "int() argument must be a string, a bytes-like object or a real number, not '{}'",
                other.type_name()
            )))
        }
    }
}

/// Parses an integer or else a float, as Python's `int()` and `float()` do.
pub(super) fn number(text: &str) -> Option<Value> {
    integer(text).or_else(|| float(text).map(Value::Float))
}

fn integer(text: &str) -> Option<Value> {
    let digits = without_underscores(text.trim())?;
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    rocksalt_core::Value::integer(&digits).map(Value::from)
}

pub(super) fn float(text: &str) -> Option<f64> {
    let text = without_underscores(text.trim())?;
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(&text).to_ascii_lowercase();
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_word = matches!(unsigned.as_str(), "inf" | "infinity" | "nan");
    if is_number || is_word { text.to_ascii_lowercase().parse().ok() } else { None }
}

/// Removes underscores as Python does: single ones between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        if *byte == b'_' && !(digit(index.checked_sub(1)) && digit(Some(index + 1))) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

pub(super) fn is_hex(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let Some(text) = value.as_str() else { return Ok(false.into()) };
    let digits = text.trim();
    let digits = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
    Ok((!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).into())
}

pub(super) fn contains_whitespace(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(string(&value)?.chars().any(char::is_whitespace).into())
}

pub(super) fn human_to_bytes(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let default_unit = arguments.text("default_unit", "B")?;
    let metric = arguments.flag("handle_metric", false)?;
    arguments.finish()?;
    let text = value.to_text()?;
    let text = text.trim();
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (amount, unit) = (&text[..length], text[length..].trim_start());
    let unit = if unit.is_empty() { default_unit.to_lowercase() } else { unit.to_lowercase() };
    let Some(amount) = number(amount) else { return Ok(0.into()) };
    let letter = unit.chars().next().unwrap_or('b');
    let Some(power) = "bkmgtpezy".find(letter) else { return Ok(0.into()) };
    let decimal = match &unit[1..] {
        "b" if power > 0 => metric,
        "" => false,
        "ib" if power > 0 => false,
        _ => return Ok(0.into()),
    };
    let factor = if decimal { 1000u128 } else { 1024 }.pow(power as u32);
    Ok(match amount {
        Value::Float(amount) => rocksalt_core::Value::integer(&format!("{:.0}", (amount * factor as f64).trunc()))
            .map_or(Value::Int(0), Value::from),
        amount => amount.as_integer().map_or(Value::Int(0), |amount| Value::integer(amount * factor)),
    })
}

pub(super) fn check_whitelist_blacklist(
    _: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
) -> Result<Value> {
    let mut list = |name: &str| -> Result<Vec<Value>> {
        let Some(given) = arguments.optional(name)? else { return Ok(Vec::new()) };
        if !given.truth()? {
            return Ok(Vec::new());
        }
        match &given {
            Value::String(_) => Ok(vec![given]),
            other if other.is_iterable() => other.to_vec(),
            other => Err(Error::type_error(format!(
                "Expecting iterable {name}, but got {} ({})",
                other.type_name(),
                other.to_text()?
            ))),
        }
    };
    let (allowed, denied) = (list("whitelist")?, list("blacklist")?);
    arguments.finish()?;
    let matched = |list: &[Value]| {
        list.iter().any(|expression| match (value.as_str(), expression.as_str()) {
            (Some(text), Some(expression)) => expression_matches(text, expression),
            _ => false,
        })
    };
    let passes = (denied.is_empty() || !matched(&denied)) && (allowed.is_empty() || matched(&allowed));
    Ok(passes.into())
}

/// Matches a glob, or a regular expression on the whole text.
fn expression_matches(text: &str, expression: &str) -> bool {
    glob::matches(expression, text)
        || Pattern::at_start(&format!("(?:{expression})\\Z"), Flags::NONE)
            .is_ok_and(|pattern| pattern.matches(text).unwrap_or(false))
}

pub(super) fn to_snake_case(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let letters: Vec<char> = string(&value)?.chars().collect();
    let Some(first) = letters.first() else {
        return Err(Error::exception("IndexError", "string index out of range"));
    };
    let mut out: String = first.to_lowercase().collect();
    for (index, letter) in letters.iter().enumerate().skip(1) {
        let follows_lower = letters[index - 1].is_lowercase();
        let precedes_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (follows_lower || precedes_lower) {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    Ok(out.into())
}

pub(super) fn to_camelcase(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let upper = arguments.flag("uppercamel", false)?;
    arguments.finish()?;
    let mut out = String::new();
    for (index, word) in string(&value)?.split('_').enumerate() {
        if index == 0 && !upper {
            out.push_str(word);
            continue;
        }
        let mut letters = word.chars();
        out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(&letters.as_str().to_lowercase());
    }
    Ok(out.into())
}

pub(super) fn path_join(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let rest = arguments.rest();
    let _ = arguments.keyword("use_posixpath");
    arguments.finish()?;
    let part = |value: &Value| match value {
        Value::String(text) => Ok(normal_path(text)),
        Value::Bytes(bytes) => Ok(normal_path(&String::from_utf8_lossy(bytes))),
        other => {
            Err(Error::type_error(format!("expected str, bytes, or bytearray not <class '{}'>", other.type_name())))
        }
    };
    let mut path = part(&value)?;
    for given in &rest {
        if !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part(given)?.trim_start_matches('/'));
    }
    Ok(normal_path(&path).into())
}

/// Python's `posixpath.normpath`.
fn normal_path(path: &str) -> String {
    let root = match path.bytes().take_while(|byte| *byte == b'/').count() {
        0 => "",
        2 => "//",
        _ => "/",
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !root.is_empty() => {}
            part => parts.push(part),
        }
    }
    let joined = format!("{root}{}", parts.join("/"));
    if joined.is_empty() { ".".into() } else { joined }
}

pub(super) fn method_call(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let name = arguments.take("f_name")?.to_text()?;
    match value.get_attribute(&name)? {
        Some(method) => scope.call(&method, FunctionArguments::new(arguments.rest(), arguments.keywords())),
        None => Ok(Value::None),
    }
}
