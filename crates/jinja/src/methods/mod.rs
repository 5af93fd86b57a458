//! Python's methods of the built-in types.

use crate::value::Value;

/// `x.name` where it is a method, as a function that remembers `x`.
pub fn bound(_value: &Value, _name: &str) -> Option<Value> {
    None
}
