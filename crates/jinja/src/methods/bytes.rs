//! Methods of bytes, most of them implemented by those of strings.

use super::{MethodFunction, string};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "decode" => decode,
        "hex" => hex,
        "capitalize" => |scope, value, arguments| as_text(scope, value, arguments, "capitalize"),
        "count" => |scope, value, arguments| as_text(scope, value, arguments, "count"),
        "endswith" => |scope, value, arguments| as_text(scope, value, arguments, "endswith"),
        "find" => |scope, value, arguments| as_text(scope, value, arguments, "find"),
        "index" => |scope, value, arguments| as_text(scope, value, arguments, "index"),
        "join" => |scope, value, arguments| as_text(scope, value, arguments, "join"),
        "lower" => |scope, value, arguments| as_text(scope, value, arguments, "lower"),
        "lstrip" => |scope, value, arguments| as_text(scope, value, arguments, "lstrip"),
        "partition" => |scope, value, arguments| as_text(scope, value, arguments, "partition"),
        "replace" => |scope, value, arguments| as_text(scope, value, arguments, "replace"),
        "rfind" => |scope, value, arguments| as_text(scope, value, arguments, "rfind"),
        "rpartition" => |scope, value, arguments| as_text(scope, value, arguments, "rpartition"),
        "rsplit" => |scope, value, arguments| as_text(scope, value, arguments, "rsplit"),
        "rstrip" => |scope, value, arguments| as_text(scope, value, arguments, "rstrip"),
        "split" => |scope, value, arguments| as_text(scope, value, arguments, "split"),
        "splitlines" => |scope, value, arguments| as_text(scope, value, arguments, "splitlines"),
        "startswith" => |scope, value, arguments| as_text(scope, value, arguments, "startswith"),
        "strip" => |scope, value, arguments| as_text(scope, value, arguments, "strip"),
        "title" => |scope, value, arguments| as_text(scope, value, arguments, "title"),
        "upper" => |scope, value, arguments| as_text(scope, value, arguments, "upper"),
        _ => return None,
    })
}

fn own(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn decode(_: &Scope<'_>, value: &Value, mut arguments: FunctionArguments) -> Result<Value> {
    let encoding = arguments.text("encoding", "utf-8")?;
    let errors = arguments.text("errors", "strict")?;
    arguments.finish()?;
    let bytes = own(value);
    let undecodable = |codec: &str, at: usize, why: &str| {
        let byte = bytes.get(at).copied().unwrap_or(0);
        let message = format!("'{codec}' codec can't decode byte {byte:#04x} in position {at}: {why}");
        Error::exception("UnicodeDecodeError", message)
    };
    match encoding.to_lowercase().replace('_', "-").as_str() {
        "utf-8" | "utf8" => match (std::str::from_utf8(bytes), errors.as_str()) {
            (Ok(text), _) => Ok(text.into()),
            (Err(_), "replace") => Ok(String::from_utf8_lossy(bytes).into_owned().into()),
            (Err(_), "ignore") => Ok(String::from_utf8_lossy(bytes).replace('\u{fffd}', "").into()),
            (Err(error), _) => Err(undecodable(
                "utf-8",
                error.valid_up_to(),
                if error.error_len().is_none() { "unexpected end of data" } else { "invalid start byte" },
            )),
        },
        "ascii" | "us-ascii" => match bytes.iter().position(|byte| !byte.is_ascii()) {
            None => Ok(String::from_utf8_lossy(bytes).into_owned().into()),
            Some(at) => Err(undecodable("ascii", at, "ordinal not in range(128)")),
        },
        "latin-1" | "latin1" | "iso-8859-1" => {
            Ok(bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into())
        }
        _ => Err(Error::exception("LookupError", format!("unknown encoding: {encoding}"))),
    }
}

fn hex(_: &Scope<'_>, value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(own(value).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// Bytes outside of ASCII become private-use characters, which aren't letters, so that methods leave them unchanged.
const AWAY: u32 = 0xf700;

/// Calls the string method on a string of the same characters.
fn as_text(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments, name: &str) -> Result<Value> {
    let Some(method) = string::find(name) else { return Ok(Value::None) };
    let positional = arguments.rest().iter().map(to_text).collect::<Result<Vec<_>>>()?;
    let keyword = arguments.keywords();
    let result = method(scope, &to_text(value)?, FunctionArguments::new(positional, keyword).named(name))?;
    Ok(from_text(&result))
}

fn to_text(value: &Value) -> Result<Value> {
    let move_away = |byte: &u8| match byte.is_ascii() {
        true => char::from(*byte),
        false => char::from_u32(AWAY + u32::from(*byte)).unwrap_or('?'),
    };
    match value {
        Value::Bytes(bytes) => Ok(bytes.iter().map(move_away).collect::<String>().into()),
        Value::List(items) | Value::Tuple(items) => {
            let items = items.borrow().iter().map(to_text).collect::<Result<Vec<_>>>()?;
            Ok(if matches!(value, Value::List(_)) { Value::list(items) } else { Value::tuple(items) })
        }
        Value::String(_) => Err(Error::type_error("a bytes-like object is required, not 'str'")),
        other => Ok(other.clone()),
    }
}

fn from_text(value: &Value) -> Value {
    let move_back = |c: char| (if c.is_ascii() { c as u32 } else { (c as u32).wrapping_sub(AWAY) }) as u8;
    match value {
        Value::String(text) => Value::Bytes(text.chars().map(move_back).collect::<Vec<u8>>().into()),
        Value::List(items) => Value::list(items.borrow().iter().map(from_text).collect()),
        Value::Tuple(items) => Value::tuple(items.borrow().iter().map(from_text).collect()),
        other => other.clone(),
    }
}
