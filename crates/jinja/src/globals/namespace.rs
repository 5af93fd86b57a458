//! [`Namespace`]: variables that a loop's body can set.

use std::rc::Rc;

use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::{Dict, PythonObject, SharedCell, Value};

pub struct Namespace(Rc<SharedCell<Dict>>);

/// Creates a namespace from keyword arguments or a mapping.
pub fn namespace(_: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let mut dict = Dict::new();
    for given in arguments.rest() {
        for (key, value) in crate::methods::pairs(&given)? {
            dict.insert(key, value)?;
        }
    }
    for (name, value) in arguments.keywords() {
        dict.insert_str(&name, value);
    }
    Ok(Value::object(Namespace(Rc::new(SharedCell::new(dict)))))
}

impl PythonObject for Namespace {
    fn type_name(&self) -> &str {
        "Namespace"
    }

    fn module(&self) -> &str {
        "jinja2.utils."
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        self.0.borrow().get_str(name).cloned()
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        Ok(self.0.borrow().get(key)?.cloned())
    }

    fn set_attribute(&self, name: &str, value: Value) -> Result<()> {
        let old = self.0.borrow_mut().insert_str(name, value);
        drop(old);
        Ok(())
    }

    fn iterate(&self) -> Option<Vec<Value>> {
        None
    }

    fn repr(&self) -> String {
        format!("<Namespace {}>", Value::Dict(Rc::clone(&self.0)).repr().unwrap_or_default())
    }
}
