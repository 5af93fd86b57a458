//! Descriptions of functions and states, which are available without running them.
//!
//! They come from the attributes in `modules`. The agent has the few that it needs, and `catalog` has all of them for
//! the controller.

use std::fmt;

use crate::pattern::glob;
use crate::value::{FromValueError, Map, Value, from_value};

/// The properties of a function that callers rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// The function changes nothing on the machine.
    pub reads: bool,
    /// The small agent has the function (decision 0018).
    pub small: bool,
    /// The function reads and is fast, and running it twice does no harm. A target doesn't record such a call: the
    /// record would cost more than the call (decision 0020).
    pub repeatable: bool,
    /// Its result has the form of state results.
    pub runs_states: bool,
    /// It needs the machine for itself: no two such functions run at the same time.
    pub whole_machine: bool,
    /// It is about the calls that an agent is running; each agent knows only its own.
    pub about_jobs: bool,
}

impl Nature {
    /// The nature of a function that changes the machine and has no other property.
    pub const CHANGES: Nature = Nature {
        reads: false,
        small: false,
        repeatable: false,
        runs_states: false,
        whole_machine: false,
        about_jobs: false,
    };
}

/// Whether a pattern selects a function or state: by name, by noun, or by a shell pattern for either; empty selects
/// all.
pub fn is_meant(pattern: &str, name: &str, aliases: &[&str]) -> bool {
    let pattern = pattern.trim_end_matches('.');
    if pattern.is_empty() {
        return true;
    }
    match pattern.contains('.') {
        true => glob::matches(pattern, name) || aliases.contains(&pattern),
        false => glob::matches(pattern, name.split('.').next().unwrap_or_default()),
    }
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Any,
    Bool,
    /// Any value, read as true or false by Python's rules.
    Flag,
    I32,
    I64,
    U16,
    U32,
    U64,
    F64,
    Text,
    Map,
    List(&'static Shape),
    /// May be null.
    Optional(&'static Shape),
}

impl Shape {
    /// Whether a value can be read as this type. Uses the code that reads it on the target.
    pub fn check(&self, value: Value) -> Result<(), FromValueError> {
        match self {
            Shape::Any | Shape::Flag => Ok(()),
            Shape::Bool => from_value::<bool>(value).map(drop),
            Shape::I32 => from_value::<i32>(value).map(drop),
            Shape::I64 => from_value::<i64>(value).map(drop),
            Shape::U16 => from_value::<u16>(value).map(drop),
            Shape::U32 => from_value::<u32>(value).map(drop),
            Shape::U64 => from_value::<u64>(value).map(drop),
            Shape::F64 => from_value::<f64>(value).map(drop),
            Shape::Text => from_value::<String>(value).map(drop),
            Shape::Map => from_value::<Map>(value).map(drop),
            // A single item is accepted as a list.
            Shape::List(item) => match value {
                Value::List(items) => items.into_iter().try_for_each(|value| item.check(value)),
                Value::Null => Ok(()),
                single => item.check(single),
            },
            Shape::Optional(inner) => match value {
                Value::Null => Ok(()),
                other => inner.check(other),
            },
        }
    }
}

/// Formats the shape as in the catalog's data file: `string?`, `[string]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shape::Any => "any",
            Shape::Bool => "bool",
            Shape::Flag => "flag",
            Shape::I32 => "i32",
            Shape::I64 => "i64",
            Shape::U16 => "u16",
            Shape::U32 => "u32",
            Shape::U64 => "u64",
            Shape::F64 => "f64",
            Shape::Text => "string",
            Shape::Map => "map",
            Shape::List(item) => return write!(f, "[{item}]"),
            Shape::Optional(inner) => return write!(f, "{inner}?"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_names_or_nouns() {
        assert!(is_meant("", "cmd.run", &[]));
        assert!(is_meant("cmd", "cmd.run", &[]) && is_meant("cmd.", "cmd.run", &[]) && is_meant("c*", "cmd.run", &[]));
        assert!(is_meant("cmd.r*", "cmd.run", &[]) && !is_meant("cmd.r", "cmd.run", &[]));
        assert!(is_meant("grains.fetch", "grains.get", &["grains.fetch"]));
    }

    #[test]
    fn a_shape_takes_what_its_type_takes() {
        assert!(Shape::List(&Shape::Text).check("one".into()).is_ok());
        assert!(Shape::Optional(&Shape::U32).check(Value::Null).is_ok());
        assert!(Shape::Flag.check("no".into()).is_ok());
        assert_eq!(
            Shape::U32.check(Value::Int(-1)).map_err(|error| error.to_string()),
            Err("expected a whole number, not negative, found integer `-1`".into())
        );
        assert_eq!(Shape::Optional(&Shape::List(&Shape::Text)).to_string(), "[string]?");
    }
}
