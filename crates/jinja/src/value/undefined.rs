//! [`Undefined`]: a missing value, which remembers its name.

use std::rc::Rc;

use super::Value;
use crate::error::{Error, Result};

/// What a template may do with an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UndefinedKind {
    /// Only `is defined` and `default()` are allowed, as in Salt.
    #[default]
    Strict,
    /// It prints as nothing, iterates over nothing and is false, as is Jinja's default.
    Lenient,
    /// Like `Lenient`, and its attributes are undefined too.
    Chainable,
}

pub struct Undefined {
    pub kind: UndefinedKind,
    pub missing: MissingName,
}

/// The thing that is missing.
pub enum MissingName {
    Name(Rc<str>),
    /// An attribute or element `name` of `object`.
    Attribute {
        object: Value,
        name: Value,
    },
    /// Another thing, described in words.
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

    /// The error's text, such as `'x' is undefined`.
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

    /// Fails if the value is undefined, whatever its kind.
    pub fn must_be_defined(&self) -> Result<()> {
        match self {
            Value::Undefined(undefined) => Err(undefined.error()),
            _ => Ok(()),
        }
    }

    /// Fails if the value is a strict undefined, which can't be printed, tested or iterated.
    pub fn must_be_usable(&self) -> Result<()> {
        match self {
            Value::Undefined(undefined) if undefined.kind == UndefinedKind::Strict => Err(undefined.error()),
            _ => Ok(()),
        }
    }
}
