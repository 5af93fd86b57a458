//! [`Undefined`]: a missing value, which remembers its name.

use std::rc::Rc;

use super::Value;
use crate::error::{Error, Result};

/// What may be done with an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UndefinedKind {
    /// Nothing but `is defined` and `default()`; Salt's way.
    #[default]
    Strict,
    /// It prints as nothing, iterates as nothing and is false; Jinja's default.
    Lenient,
    /// Like lenient, and its attributes are undefined too.
    Chainable,
}

pub struct Undefined {
    pub kind: UndefinedKind,
    pub missing: MissingName,
}

/// What was looked for.
pub enum MissingName {
    Name(Rc<str>),
    /// An attribute or element `name` of `object`.
    Attribute {
        object: Value,
        name: Value,
    },
    /// Anything else, in words.
    Other(String),
}

impl Undefined {
    pub fn new(kind: UndefinedKind, missing: MissingName) -> Undefined {
        Undefined { kind, missing }
    }

    pub fn type_name(&self) -> &'static str {
        match self.kind {
            UndefinedKind::Strict => "StrictUndefined",
            UndefinedKind::Lenient => "Undefined",
            UndefinedKind::Chainable => "ChainableUndefined",
        }
    }

    /// `'x' is undefined`, or the like.
    pub fn message(&self) -> String {
        match &self.missing {
            MissingName::Name(name) => format!("'{name}' is undefined"),
            MissingName::Attribute { object, name } => {
                let kind = match object {
                    Value::None => "None".to_owned(),
                    Value::Object(object) => format!("{}{} object", object.module(), object.type_name()),
                    other => format!("{} object", other.type_name()),
                };
                match name {
                    Value::String(name) => format!("'{kind}' has no attribute {}", super::quoted(name)),
                    other => format!("{kind} has no element {}", other.repr().unwrap_or_default()),
                }
            }
            MissingName::Other(message) => message.clone(),
        }
    }

    pub fn error(self: &Rc<Undefined>) -> Error {
        Error::undefined(Rc::clone(self))
    }
}

impl Value {
    pub fn undefined(kind: UndefinedKind, missing: MissingName) -> Value {
        Value::Undefined(Rc::new(Undefined::new(kind, missing)))
    }

    /// The error of using a value that isn't defined at all, whatever the kind.
    pub fn must_be_defined(&self) -> Result<()> {
        match self {
            Value::Undefined(undefined) => Err(undefined.error()),
            _ => Ok(()),
        }
    }

    /// The error of printing, testing or iterating a strict undefined.
    pub fn must_be_usable(&self) -> Result<()> {
        match self {
            Value::Undefined(undefined) if undefined.kind == UndefinedKind::Strict => Err(undefined.error()),
            _ => Ok(()),
        }
    }
}
