//! [`Value`]: the value of an expression, with Python's semantics.

pub(crate) mod arithmetic;
mod compare;
mod convert;
mod dict;
mod generator;
mod index;
pub(crate) mod integer;
mod iterate;
mod object;
mod repr;
mod set;
mod shared;
mod text;
mod undefined;

use std::rc::Rc;

use num_bigint::BigInt;

pub use compare::Comparison;
pub use dict::{Dict, ORDERED};
pub use generator::Generator;
pub use index::{Slice, code_points};
pub use iterate::Iter;
pub use object::PythonObject;
pub(crate) use repr::{float_text, printable, quoted};
pub use set::PythonSet;
pub use shared::SharedCell;
pub(crate) use shared::bury;
pub use text::MarkupText;
pub use undefined::{MissingName, Undefined, UndefinedKind};

use crate::error::{Error, Result};

/// The depth beyond which printing or comparing a value is an error.
pub(crate) const MAX_NESTING: usize = 300;

/// How many values one print, comparison or conversion may visit. A list that holds another one twice, which again
/// holds one twice, has few values but many paths.
pub(crate) const MAX_VISITS: usize = 5_000_000;

/// Counts a visit; fails if there are too many or the depth is too large.
pub(crate) fn visit(visits: &std::cell::Cell<usize>, depth: usize, doing: &str) -> Result<()> {
    visits.set(visits.get() + 1);
    if depth > MAX_NESTING || visits.get() > MAX_VISITS {
        return Err(Error::too_deep(doing));
    }
    Ok(())
}

/// A Python object. Clones are cheap; lists, dicts and sets are shared, so that all holders see a change.
#[derive(Clone)]
pub enum Value {
    Undefined(Rc<Undefined>),
    None,
    Bool(bool),
    Int(i64),
    /// An integer that doesn't fit into [`Value::Int`].
    BigInt(Rc<BigInt>),
    Float(f64),
    String(MarkupText),
    Bytes(Rc<[u8]>),
    List(Rc<SharedCell<Vec<Value>>>),
    Tuple(Rc<SharedCell<Vec<Value>>>),
    Dict(Rc<SharedCell<Dict>>),
    Set(Rc<SharedCell<PythonSet>>),
    Object(Rc<dyn PythonObject>),
}

impl Value {
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(SharedCell::new(items)))
    }

    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Rc::new(SharedCell::new(items)))
    }

    pub fn dict(dict: Dict) -> Value {
        Value::Dict(Rc::new(SharedCell::new(dict)))
    }

    pub fn set(set: PythonSet) -> Value {
        Value::Set(Rc::new(SharedCell::new(set)))
    }

    pub fn object(object: impl PythonObject) -> Value {
        Value::Object(Rc::new(object))
    }

    /// Creates a Python generator, whose items can be taken once.
    pub fn generator(function: &'static str, items: Vec<Value>) -> Value {
        Value::object(Generator::new(function, items))
    }

    /// Creates text that needs no escaping (`Markup`).
    pub fn safe(text: impl AsRef<str>) -> Value {
        Value::String(MarkupText::safe(text))
    }

    /// The text of a string, safe or not.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as an `i64`; as in Python, a boolean is an integer.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Bool(flag) => Some(i64::from(*flag)),
            _ => None,
        }
    }

    pub fn as_undefined(&self) -> Option<&Undefined> {
        match self {
            Value::Undefined(undefined) => Some(undefined),
            _ => None,
        }
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    pub fn is_safe(&self) -> bool {
        matches!(self, Value::String(text) if text.is_safe())
    }

    /// The object inside, if it is of this type.
    pub fn downcast<T: PythonObject>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => (&**object as &dyn std::any::Any).downcast_ref(),
            _ => None,
        }
    }

    /// Python's `type(x).__name__`.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Undefined(undefined) => undefined.type_name(),
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::BigInt(_) => "int",
            Value::Float(_) => "float",
            Value::String(text) if text.is_safe() => "Markup",
            Value::String(_) => "str",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(dict) => dict.borrow().class(),
            Value::Set(_) => "set",
            Value::Object(object) => object.type_name(),
        }
    }

    /// Python's `bool(x)`. Fails for a strict undefined.
    pub fn truth(&self) -> Result<bool> {
        Ok(match self {
            Value::Undefined(_) => return self.must_be_usable().map(|()| false),
            Value::None => false,
            Value::Bool(flag) => *flag,
            Value::Int(number) => *number != 0,
            Value::BigInt(_) => true,
            Value::Float(number) => *number != 0.0,
            Value::String(text) => !text.is_empty(),
            Value::Bytes(bytes) => !bytes.is_empty(),
            Value::List(items) | Value::Tuple(items) => !items.borrow().is_empty(),
            Value::Dict(dict) => !dict.borrow().is_empty(),
            Value::Set(set) => !set.borrow().is_empty(),
            Value::Object(object) => object.len().is_none_or(|length| length > 0),
        })
    }

    /// Python's `len(x)`.
    // `truth` tells whether it is empty.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> Result<usize> {
        match self {
            Value::Undefined(_) => self.must_be_usable().map(|()| 0),
            Value::String(text) => Ok(text.chars().count()),
            Value::Bytes(bytes) => Ok(bytes.len()),
            Value::List(items) | Value::Tuple(items) => Ok(items.borrow().len()),
            Value::Dict(dict) => Ok(dict.borrow().len()),
            Value::Set(set) => Ok(set.borrow().len()),
            Value::Object(object) if object.len().is_some() => Ok(object.len().unwrap_or_default()),
            other => Err(Error::type_error(format!("object of type '{}' has no len()", other.type_name()))),
        }
    }

    /// Python's `callable(x)`.
    pub fn is_callable(&self) -> bool {
        matches!(self, Value::Object(object) if object.is_callable())
    }

    /// Python's `a is b`.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::BigInt(a), Value::BigInt(b)) => Rc::ptr_eq(a, b),
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::String(a), Value::String(b)) => a.is_safe() == b.is_safe() && **a == **b,
            (Value::Bytes(a), Value::Bytes(b)) => Rc::ptr_eq(a, b),
            (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
            (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b) || (a.borrow().is_empty() && b.borrow().is_empty()),
            (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
            (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b),
            (Value::Undefined(a), Value::Undefined(b)) => Rc::ptr_eq(a, b),
            (Value::Object(a), Value::Object(b)) => std::ptr::addr_eq(Rc::as_ptr(a), Rc::as_ptr(b)),
            _ => false,
        }
    }
}
