//! The `flags` of functions that take a regular expression.

use rocksalt_core::Value;

use crate::text::pattern::Flags;
use crate::{Error, Result};

/// Python's `MULTILINE`, as Salt has it.
pub fn standard() -> Value {
    Value::Int(8)
}

pub fn read(value: &Value) -> Result<Flags> {
    match value {
        Value::Null => Ok(Flags::MULTI_LINE),
        Value::Int(bits) => Ok(Flags::from_bits(*bits)),
        Value::String(names) => {
            let mut flags = Flags::default();
            names.split(['|', ',']).try_for_each(|name| flags.add(name.trim().trim_start_matches("re.")))?;
            Ok(flags)
        }
        Value::List(names) => {
            let mut flags = Flags::default();
            names.iter().try_for_each(|name| flags.add(&name.to_string()))?;
            Ok(flags)
        }
        other => Err(Error::arguments(format!("flags: expected names of flags, found {}", other.kind()))),
    }
}
