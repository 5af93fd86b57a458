//! [`Scope`]: what a filter, a test or an object sees of the render that calls it.

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::value::{UndefinedKind, Value};

pub struct Scope<'a> {
    environment: &'a Environment,
}

impl Scope<'_> {
    pub fn environment(&self) -> &Environment {
        self.environment
    }

    /// The name of the template that is being rendered.
    pub fn template_name(&self) -> &str {
        ""
    }

    /// Whether what is printed gets escaped here.
    pub fn autoescape(&self) -> bool {
        false
    }

    pub fn undefined_kind(&self) -> UndefinedKind {
        UndefinedKind::Strict
    }

    /// The variable of that name, as the template would see it here.
    pub fn lookup(&self, _name: &str) -> Option<Value> {
        None
    }

    /// All variables that can be seen here, outermost first.
    pub fn variables(&self) -> Vec<(String, Value)> {
        Vec::new()
    }

    /// `callee(…)`
    pub fn call(&self, callee: &Value, arguments: Arguments) -> Result<Value> {
        match callee {
            Value::Object(object) => object.call(self, arguments),
            other => Err(Error::type_error(format!("'{}' object is not callable", other.type_name()))),
        }
    }

    /// `value | name(…)`
    pub fn filter(&self, _name: &str, value: Value, _arguments: Arguments) -> Result<Value> {
        Ok(value)
    }

    /// `value is name(…)`
    pub fn test(&self, _name: &str, _value: Value, _arguments: Arguments) -> Result<bool> {
        Ok(false)
    }

    /// Counts work that is done for a template, a step an item or so; fails when it has been too much.
    pub fn charge(&self, _steps: usize) -> Result<()> {
        Ok(())
    }

    /// To be asked before making a text of that many bytes.
    pub fn check_size(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }
}
