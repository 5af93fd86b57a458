//! [`PythonObject`]: objects of the host, such as `salt`, and our own that are not plain data.

use std::any::Any;

use super::{Slice, Value};
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;

/// Everything has a default: an object that implements nothing is inert.
// Whether it is empty is its truth, which is no method of its own.
#[allow(clippy::len_without_is_empty)]
pub trait PythonObject: Any {
    /// Python's name of the type, for messages.
    fn type_name(&self) -> &str {
        "object"
    }

    /// What stands before the type's name in messages about missing attributes: its Python module, with a dot.
    fn module(&self) -> &str {
        ""
    }

    /// `object.name`
    fn get_attribute(&self, _name: &str) -> Option<Value> {
        None
    }

    /// `object[key]`; `None` if there is no such item.
    fn get_item(&self, _key: &Value) -> Result<Option<Value>> {
        Ok(None)
    }

    /// `object[a:b:c]`; `None` if it has no order.
    fn slice(&self, _slice: &Slice) -> Option<Result<Value>> {
        None
    }

    /// `{% set object.name = value %}`
    fn set_attribute(&self, _name: &str, _value: Value) -> Result<()> {
        Err(Error::runtime("cannot assign attribute on non-namespace object"))
    }

    fn is_callable(&self) -> bool {
        false
    }

    /// `object(…)`
    fn call(&self, _scope: &Scope<'_>, _arguments: FunctionArguments) -> Result<Value> {
        Err(Error::type_error(format!("'{}' object is not callable", self.type_name())))
    }

    /// `object.name(…)`. Only for objects whose methods are cheaper called than made.
    fn call_method(&self, scope: &Scope<'_>, name: &str, arguments: FunctionArguments) -> Option<Result<Value>> {
        self.get_attribute(name).map(|method| scope.call(&method, arguments))
    }

    /// `len(object)`
    fn len(&self) -> Option<usize> {
        None
    }

    /// `x in object`; by default whatever iterating finds.
    fn contains(&self, _value: &Value) -> Option<Result<bool>> {
        None
    }

    /// What a `for` loop gets; `None` if it can't be looped over.
    fn iterate(&self) -> Option<Vec<Value>> {
        self.keys()
    }

    /// The keys, if it is a mapping.
    fn keys(&self) -> Option<Vec<Value>> {
        None
    }

    /// `a == b`; by default only the same object is equal.
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
