//! Python's methods of the built-in types.

mod bytes;
mod dict;
mod list;
mod number;
mod set;
mod string;
mod string_predicates;
mod string_search;
mod views;

pub use dict::pairs;
pub(crate) use string::{capitalize, is_space, replaced};
pub(crate) use string_predicates::ascii_digits;
pub(crate) use string_search::lines;
pub use views::{View, ViewKind};

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::{PythonObject, Value};

/// A method; it gets the value that it is called on.
pub type MethodFunction = fn(&Scope<'_>, &Value, FunctionArguments) -> Result<Value>;

/// Finds a method of the value's type by name.
pub fn find(value: &Value, name: &str) -> Option<MethodFunction> {
    match value {
        Value::String(_) => string::find(name),
        Value::List(_) => list::find(name),
        Value::Tuple(_) => list::find_of_tuple(name),
        Value::Dict(_) => dict::find(name),
        Value::Set(_) => set::find(name),
        Value::Bytes(_) => bytes::find(name),
        Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => number::find(value, name),
        _ => None,
    }
}

/// The bound method `x.name`: a function that holds `x`.
pub fn bound(value: &Value, name: &str) -> Option<Value> {
    if let Some(attribute) = number::attribute(value, name) {
        return Some(attribute);
    }
    let method = find(value, name)?;
    Some(Value::object(BoundMethod { value: value.clone(), name: name.to_owned(), method }))
}

struct BoundMethod {
    value: Value,
    name: String,
    method: MethodFunction,
}

impl PythonObject for BoundMethod {
    fn type_name(&self) -> &str {
        "builtin_function_or_method"
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        (self.method)(scope, &self.value, arguments.named(self.name.as_str()))
    }

    fn equals(&self, other: &Value) -> Option<bool> {
        let other = other.downcast::<BoundMethod>()?;
        Some(self.name == other.name && self.value.same(&other.value))
    }

    fn repr(&self) -> String {
        format!("<built-in method {} of {} object at {self:p}>", self.name, self.value.type_name())
    }
}
