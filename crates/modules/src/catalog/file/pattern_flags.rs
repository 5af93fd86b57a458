//! The argument `flags` of functions with a regular expression.

use rocksalt_core::Value;
use rocksalt_core::pattern::Flags;

use crate::{Error, Result};

/// Salt's default: Python's `MULTILINE`.
pub fn standard() -> Value {
    Value::Int(8)
}

pub fn read(value: &Value) -> Result<Flags> {
    match value {
        Value::Null => Ok(Flags::MULTI_LINE),
        Value::Int(bits) => Ok(Flags::from_bits(*bits)),
        Value::String(names) => {
            let mut flags = Flags::NONE;
            names.split(['|', ',']).try_for_each(|name| add(&mut flags, name.trim().trim_start_matches("re.")))?;
            Ok(flags)
        }
        Value::List(names) => {
            let mut flags = Flags::NONE;
            names.iter().try_for_each(|name| add(&mut flags, &name.to_string()))?;
            Ok(flags)
        }
        other => Err(Error::arguments(format!("flags: expected names of flags, found {}", other.kind()))),
    }
}

fn add(flags: &mut Flags, name: &str) -> Result<()> {
    if flags.add(name) {
        return Ok(());
    }
    Err(Error::arguments(format!("Invalid re flag given: {name}"))
        .hint("known are IGNORECASE, MULTILINE, DOTALL and VERBOSE"))
}
