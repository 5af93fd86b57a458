//! [`PythonObject`]: host objects, such as `salt`, and our objects that aren't plain data.

use std::any::Any;

use super::{Slice, Value};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;

/// The methods of an object. All have defaults: an object that implements none of them is inert.
// `truth` tells whether an object is empty.
#[allow(clippy::len_without_is_empty)]
pub trait PythonObject: Any {
    /// Python's name of the type, for messages.
    fn type_name(&self) -> &str {
        "object"
    }

    /// The Python module with a dot, which precedes the type's name in messages about missing attributes.
    fn module(&self) -> &str {
        ""
    }

    /// Evaluates `object.name`.
    fn get_attribute(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Evaluates `object[key]`; `None` if there is no such item.
    fn get_item(&self, _key: &Value) -> Result<Option<Value>> {
        Ok(None)
    }

    /// Evaluates `object[a:b:c]`; `None` if the object isn't a sequence.
    fn slice(&self, _slice: &Slice) -> Option<Result<Value>> {
        None
    }

    /// Evaluates `{% set object.name = value %}`.
    fn set_attribute(&self, _name: &str, _value: Value) -> Result<()> {
        Err(Error::runtime("cannot assign attribute on non-namespace object"))
    }

    fn is_callable(&self) -> bool {
        false
    }

    /// Evaluates `object(…)`.
    fn call(&self, _scope: &Scope<'_>, _arguments: FunctionArguments) -> Result<Value> {
        Err(Error::type_error(format!("'{}' object is not callable", self.type_name())))
    }

    /// Evaluates `object.name(…)`. For objects where a direct call is cheaper than a bound method.
    fn call_method(&self, scope: &Scope<'_>, name: &str, arguments: FunctionArguments) -> Option<Result<Value>> {
        self.get_attribute(name).map(|method| scope.call(&method, arguments))
    }

    /// `len(object)`
    fn len(&self) -> Option<usize> {
        None
    }

    /// Evaluates `x in object`; `None` searches the iterated items.
    fn contains(&self, _value: &Value) -> Option<Result<bool>> {
        None
    }

    /// The items for a `for` loop; `None` if the object isn't iterable.
    fn iterate(&self) -> Option<Vec<Value>> {
        self.keys()
    }

    /// The keys, if it is a mapping.
    fn keys(&self) -> Option<Vec<Value>> {
        None
    }

    /// Evaluates `a == b`; with `None`, an object equals only itself.
    fn equals(&self, _other: &Value) -> Option<bool> {
        None
    }

    /// Python's `repr()`.
    fn repr(&self) -> String {
        format!("<{} object>", self.type_name())
    }

    /// Python's `str()`.
    fn text(&self) -> String {
        self.repr()
    }
}
