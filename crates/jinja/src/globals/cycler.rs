//! `cycler` and `joiner`: stateful helpers.

use std::cell::Cell;

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{PythonObject, Value};

struct Cycler {
    items: Vec<Value>,
    at: Cell<usize>,
}

pub fn cycler(_: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let items = arguments.rest();
    arguments.finish()?;
    if items.is_empty() {
        return Err(Error::exception("RuntimeError", "at least one item has to be provided"));
    }
    Ok(Value::object(Cycler { items, at: Cell::new(0) }))
}

impl PythonObject for Cycler {
    fn type_name(&self) -> &str {
        "Cycler"
    }

    fn module(&self) -> &str {
        "jinja2.utils."
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        match name {
            "current" => self.items.get(self.at.get()).cloned(),
            "pos" => Some(self.at.get().into()),
            "items" => Some(Value::tuple(self.items.clone())),
            _ => None,
        }
    }

    fn call_method(&self, _: &Scope<'_>, name: &str, _: FunctionArguments) -> Option<Result<Value>> {
        match name {
            "next" => {
                let current = self.items.get(self.at.get()).cloned();
                self.at.set((self.at.get() + 1) % self.items.len());
                Some(Ok(current.unwrap_or(Value::None)))
            }
            "reset" => {
                self.at.set(0);
                Some(Ok(Value::None))
            }
            _ => None,
        }
    }
}

struct Joiner {
    separator: Value,
    used: Cell<bool>,
}

pub fn joiner(_: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let separator = arguments.or("sep", ", ")?;
    arguments.finish()?;
    Ok(Value::object(Joiner { separator, used: Cell::new(false) }))
}

impl PythonObject for Joiner {
    fn type_name(&self) -> &str {
        "Joiner"
    }

    fn module(&self) -> &str {
        "jinja2.utils."
    }

    fn is_callable(&self) -> bool {
        true
    }

    /// Returns nothing the first time, then the separator.
    fn call(&self, _: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        arguments.finish()?;
        Ok(if self.used.replace(true) { self.separator.clone() } else { "".into() })
    }
}
