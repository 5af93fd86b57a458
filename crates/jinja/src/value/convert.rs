//! Converts values to and from other representations of data.

use std::cell::Cell;
use std::rc::Rc;

use rocksalt_core::{Map, Value as Core};

use super::{Dict, MarkupText, Value, visit};
use crate::error::{Error, Result};

impl From<Core> for Value {
    fn from(value: Core) -> Value {
        match value {
            Core::Null => Value::None,
            Core::Bool(flag) => Value::Bool(flag),
            Core::Int(number) => Value::Int(number),
            Core::BigInt(digits) => digits.parse().map_or(Value::None, Value::integer),
            Core::Float(number) => Value::Float(number),
            Core::String(text) => Value::from(text),
            Core::Bytes(bytes) => Value::Bytes(bytes.into()),
            Core::List(items) => Value::list(items.into_iter().map(Value::from).collect()),
            Core::Map(map) => {
                let mut dict = Dict::new();
                for (key, value) in map {
                    let key = match key {
                        // A key that is a list in YAML becomes a tuple, since Python can't hash lists.
                        Core::List(items) => Value::tuple(items.into_iter().map(Value::from).collect()),
                        other => Value::from(other),
                    };
                    // A scalar or a tuple of scalars can always be a key.
                    let _ = dict.insert(key, value.into());
                }
                Value::dict(dict)
            }
        }
    }
}

impl From<&Core> for Value {
    fn from(value: &Core) -> Value {
        Value::from(value.clone())
    }
}

impl Value {
    /// Gives all maps inside the class of those that Salt reads from YAML.
    #[must_use]
    pub fn ordered(self) -> Value {
        match &self {
            Value::List(items) | Value::Tuple(items) => {
                items.borrow().iter().for_each(|item| drop(item.clone().ordered()));
            }
            Value::Dict(dict) => {
                dict.borrow_mut().set_class(super::ORDERED);
                dict.borrow().values().for_each(|value| drop(value.clone().ordered()));
            }
            _ => {}
        }
        self
    }

    /// Converts to plain data. Fails for undefined values, for host objects and for a value that contains itself.
    pub fn to_core(&self) -> Result<Core> {
        self.core(0, &Cell::new(0))
    }

    fn core(&self, depth: usize, visits: &Cell<usize>) -> Result<Core> {
        if depth > rocksalt_core::value::MAX_DEPTH {
            return Err(Error::too_deep("converting"));
        }
        visit(visits, depth, "converting")?;
        let list = |items: &[Value]| items.iter().map(|item| item.core(depth + 1, visits)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Value::Undefined(undefined) => return Err(undefined.error()),
            Value::None => Core::Null,
            Value::Bool(flag) => Core::Bool(*flag),
            Value::Int(number) => Core::Int(*number),
            Value::BigInt(number) => Core::BigInt(number.to_string().into()),
            Value::Float(number) => Core::Float(*number),
            Value::String(text) => Core::String(text.to_string()),
            Value::Bytes(bytes) => Core::Bytes(bytes.to_vec()),
            Value::List(items) | Value::Tuple(items) => Core::List(list(&items.borrow())?),
            Value::Set(set) => Core::List(list(&set.borrow().iter().cloned().collect::<Vec<_>>())?),
            Value::Dict(dict) => {
                let mut map = Map::new();
                for (key, value) in dict.borrow().iter() {
                    map.insert(key.core(depth + 1, visits)?, value.core(depth + 1, visits)?);
                }
                Core::Map(map)
            }
            Value::Object(object) => match (object.keys(), object.iterate()) {
                (Some(keys), _) => {
                    let mut map = Map::new();
                    for key in keys {
                        let value = object.get_item(&key)?.unwrap_or(Value::None);
                        map.insert(key.core(depth + 1, visits)?, value.core(depth + 1, visits)?);
                    }
                    Core::Map(map)
                }
                (None, _) if self.is_iterable() => Core::List(list(&self.to_vec()?)?),
                _ => {
                    return Err(Error::type_error(format!("Object of type {} is not plain data", object.type_name())));
                }
            },
        })
    }
}

macro_rules! from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value { ($make)(value) }
        })+
    };
}

from! {
    bool => Value::Bool,
    i64 => Value::Int,
    i32 => |number| Value::Int(i64::from(number)),
    u32 => |number| Value::Int(i64::from(number)),
    f64 => Value::Float,
    &str => |text| Value::String(MarkupText::new(text)),
    &String => |text: &String| Value::String(MarkupText::new(text)),
    String => |text| Value::String(MarkupText::new(text)),
    Rc<str> => |text: Rc<str>| Value::String(text.into()),
    MarkupText => Value::String,
    Vec<Value> => Value::list,
    Dict => Value::dict,
}

impl From<char> for Value {
    fn from(c: char) -> Value {
        Value::String(MarkupText::new(c.encode_utf8(&mut [0; 4])))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        i64::try_from(number).map_or_else(|_| Value::integer(number.into()), Value::Int)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        i64::try_from(number).map_or_else(|_| Value::integer(number.into()), Value::Int)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, Into::into)
    }
}
