//! Methods of bytes: the few that templates need.

use super::Method;
use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

pub fn find(name: &str) -> Option<Method> {
    Some(match name {
        "decode" => decode,
        "hex" => hex,
        "startswith" => starts_with,
        "endswith" => ends_with,
        _ => return None,
    })
}

fn own(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn decode(_: &Scope<'_>, value: &Value, mut arguments: Arguments) -> Result<Value> {
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
            (Err(error), _) => Err(undecodable("utf-8", error.valid_up_to(), "invalid start byte")),
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

fn hex(_: &Scope<'_>, value: &Value, arguments: Arguments) -> Result<Value> {
    arguments.finish()?;
    Ok(own(value).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

fn starts_with(_: &Scope<'_>, value: &Value, mut arguments: Arguments) -> Result<Value> {
    Ok(own(value).starts_with(own(&arguments.take("prefix")?)).into())
}

fn ends_with(_: &Scope<'_>, value: &Value, mut arguments: Arguments) -> Result<Value> {
    Ok(own(value).ends_with(own(&arguments.take("suffix")?)).into())
}
