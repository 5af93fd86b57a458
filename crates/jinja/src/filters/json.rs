//! The filter `tojson`.

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::salt::json_text::{DumpsOptions, dumps};
use crate::scope::Scope;
use crate::value::Value;

/// Writes JSON with sorted keys, and with characters escaped that mean something in HTML.
pub fn tojson(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let indent = arguments.optional("indent")?.filter(|indent| !indent.is_none());
    arguments.finish()?;
    let indent = match indent {
        Some(Value::String(text)) => Some(text.to_string()),
        Some(other) => Some(" ".repeat(other.to_index()?.clamp(0, 1000) as usize)),
        None => None,
    };
    let text = dumps(
        &value,
        DumpsOptions {
            sort_keys: true,
            indent: indent.as_deref(),
            ascii: true,
            limit: scope.environment().options().limits.output_bytes,
        },
    )?;
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026").replace('\'', "\\u0027");
    Ok(Value::safe(text))
}
