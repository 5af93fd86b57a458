//! The filter `attr`, and attribute paths such as `user.name.0`, which other filters take.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{MissingName, Value};

/// The path that an `attribute=` argument names.
pub struct Path {
    parts: Vec<Value>,
    default: Option<Value>,
}

impl Path {
    /// Splits the argument at dots; numbers are indexes.
    pub fn new(attribute: Option<&Value>, default: Option<Value>) -> Path {
        let parts = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::String(text)) => text.split('.').map(part).collect(),
            Some(other) => vec![other.clone()],
        };
        Path { parts, default: default.filter(|default| !default.is_none()) }
    }

    pub fn get(&self, scope: &Scope<'_>, item: &Value) -> Result<Value> {
        let mut value = item.clone();
        for part in &self.parts {
            value = value.item(part, scope.undefined_kind())?;
            if let (Some(default), true) = (&self.default, value.is_undefined()) {
                value = default.clone();
            }
        }
        Ok(value)
    }
}

fn part(text: &str) -> Value {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<i64>() {
        Ok(index) if digits => Value::Int(index),
        _ => text.into(),
    }
}

/// Looks up attributes only, never items.
pub fn attr(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let name = arguments.take("name")?;
    arguments.finish()?;
    let Value::String(name) = &name else {
        let message = format!("attribute name must be string, not '{}'", name.type_name());
        return Err(Error::type_error(message));
    };
    Ok(value.get_attribute(name)?.unwrap_or_else(|| {
        Value::undefined(
            scope.undefined_kind(),
            MissingName::Attribute { object: value.clone(), name: Value::String(name.clone()) },
        )
    }))
}
