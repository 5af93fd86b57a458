//! Subscripts, attributes, slices and `in`: `x[i]`, `x.name`, `x[a:b:c]` and `a in x`.

use super::{MissingName, UndefinedKind, Value};
use crate::error::{Error, Result};
use crate::methods;

/// The bounds of `[a:b:c]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice {
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub step: Option<i64>,
}

impl Slice {
    /// The indexes that the slice selects in a sequence of this length.
    pub fn indexes(&self, length: usize) -> Result<Vec<usize>> {
        let (length, step) = (length as i64, self.step.unwrap_or(1));
        if step == 0 {
            return Err(Error::value_error("slice step cannot be zero"));
        }
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let clamp = |bound: i64| if bound < 0 { (bound.saturating_add(length)).max(low) } else { bound.min(high) };
        let start = self.start.map_or(if step > 0 { low } else { high }, clamp);
        let stop = self.stop.map_or(if step > 0 { high } else { low }, clamp);
        let mut indexes = Vec::new();
        let mut at = start;
        while if step > 0 { at < stop } else { at > stop } {
            indexes.push(at as usize);
            at = at.saturating_add(step);
        }
        Ok(indexes)
    }
}

/// The characters at these indexes.
pub fn code_points(text: &str, indexes: &[usize]) -> String {
    if text.is_ascii() {
        let bytes = text.as_bytes();
        return indexes.iter().filter_map(|index| bytes.get(*index).map(|byte| char::from(*byte))).collect();
    }
    let chars: Vec<char> = text.chars().collect();
    indexes.iter().filter_map(|index| chars.get(*index)).collect()
}

impl Value {
    /// Evaluates `x[key]` as Python does; `None` where Python raises a `KeyError`, an `IndexError` or the like.
    pub fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        match self {
            Value::Dict(dict) => match dict.borrow().get(key) {
                Ok(value) => Ok(value.cloned()),
                // Jinja swallows the TypeError of an invalid key, but no other exception.
                Err(error) if error.exception == "TypeError" => Ok(None),
                Err(error) => Err(error),
            },
            Value::List(items) | Value::Tuple(items) => {
                let items = items.borrow();
                Ok(position(key, items.len()).map(|index| items[index].clone()))
            }
            Value::String(text) => {
                let Some(index) = key.as_i64() else { return Ok(None) };
                let found = if text.is_ascii() {
                    position(key, text.len()).and_then(|index| text.get(index..=index)).map(Value::from)
                } else if index >= 0 {
                    text.chars().nth(index as usize).map(Value::from)
                } else {
                    text.chars().rev().nth((index.unsigned_abs() - 1) as usize).map(Value::from)
                };
                Ok(found
                    .map(|value| if text.is_safe() { Value::safe(value.as_str().unwrap_or_default()) } else { value }))
            }
            Value::Bytes(bytes) => Ok(position(key, bytes.len()).map(|index| Value::Int(i64::from(bytes[index])))),
            Value::Object(object) => object.get_item(key),
            Value::Undefined(undefined) => match undefined.kind {
                UndefinedKind::Chainable => Ok(Some(self.clone())),
                _ => Err(undefined.error()),
            },
            _ => Ok(None),
        }
    }

    /// Evaluates `x[a:b:c]`.
    pub fn slice(&self, slice: &Slice) -> Result<Value> {
        match self {
            Value::List(items) => {
                let items = items.borrow();
                Ok(Value::list(slice.indexes(items.len())?.into_iter().map(|index| items[index].clone()).collect()))
            }
            Value::Tuple(items) => {
                let items = items.borrow();
                Ok(Value::tuple(slice.indexes(items.len())?.into_iter().map(|index| items[index].clone()).collect()))
            }
            Value::String(text) => {
                let length = if text.is_ascii() { text.len() } else { text.chars().count() };
                let part = code_points(text, &slice.indexes(length)?);
                Ok(if text.is_safe() { Value::safe(part) } else { part.into() })
            }
            Value::Bytes(bytes) => {
                let part: Vec<u8> = slice.indexes(bytes.len())?.into_iter().map(|index| bytes[index]).collect();
                Ok(Value::Bytes(part.into()))
            }
            Value::Undefined(undefined) => match undefined.kind {
                UndefinedKind::Chainable => Ok(self.clone()),
                _ => Err(undefined.error()),
            },
            Value::Object(object) => match object.slice(slice) {
                Some(part) => part,
                None => Err(self.not_subscriptable()),
            },
            Value::Dict(_) => Err(Error::type_error("unhashable type: 'slice'")),
            _ => Err(self.not_subscriptable()),
        }
    }

    fn not_subscriptable(&self) -> Error {
        Error::type_error(format!("'{}' object is not subscriptable", self.type_name()))
    }

    /// Looks up a Python attribute: a method, or an attribute of an object.
    pub fn get_attribute(&self, name: &str) -> Result<Option<Value>> {
        match self {
            Value::Object(object) => Ok(object.get_attribute(name)),
            Value::Undefined(undefined) => match undefined.kind {
                UndefinedKind::Chainable => Ok(Some(self.clone())),
                _ => Err(undefined.error()),
            },
            _ => Ok(methods::bound(self, name)),
        }
    }

    /// Evaluates Jinja's `x.name`: the attribute, or else the item.
    pub fn attribute(&self, name: &str, kind: UndefinedKind) -> Result<Value> {
        if let Some(value) = self.get_attribute(name)? {
            return Ok(value);
        }
        let found = match self {
            Value::Dict(dict) => dict.borrow().get_str(name).cloned(),
            Value::Object(object) => object.get_item(&name.into())?,
            _ => None,
        };
        Ok(found.unwrap_or_else(|| {
            Value::undefined(kind, MissingName::Attribute { object: self.clone(), name: name.into() })
        }))
    }

    /// Evaluates Jinja's `x[key]`: the item, or else the attribute.
    pub fn item(&self, key: &Value, kind: UndefinedKind) -> Result<Value> {
        if let Some(value) = self.get_item(key)? {
            return Ok(value);
        }
        if let Value::String(name) = key
            && let Some(value) = self.get_attribute(name)?
        {
            return Ok(value);
        }
        Ok(Value::undefined(kind, MissingName::Attribute { object: self.clone(), name: key.clone() }))
    }

    /// Evaluates Python's `item in self`.
    pub fn contains(&self, item: &Value) -> Result<bool> {
        match self {
            Value::Dict(dict) => dict.borrow().contains(item),
            Value::Set(set) => set.borrow().contains(item),
            Value::String(text) => match item {
                Value::String(part) => Ok(text.contains(&**part)),
                other => {
                    other.must_be_usable()?;
                    Err(Error::type_error(format!(
                        "'in <string>' requires string as left operand, not {}",
                        other.type_name()
                    )))
                }
            },
            Value::Bytes(bytes) => match item {
                Value::Bytes(part) => Ok(part.is_empty() || bytes.windows(part.len()).any(|window| window == &**part)),
                Value::Int(byte) => Ok(bytes.iter().any(|b| i64::from(*b) == *byte)),
                other => {
                    Err(Error::type_error(format!("a bytes-like object is required, not '{}'", other.type_name())))
                }
            },
            Value::Object(object) if object.contains(item).is_some() => object.contains(item).unwrap_or(Ok(false)),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                Err(Error::type_error(format!("argument of type '{}' is not iterable", self.type_name())))
            }
            _ => {
                for other in self.iterate()? {
                    let other = other?;
                    if other.same(item) || other.equals(item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Resolves an index; a negative one counts from the end.
pub(crate) fn position(key: &Value, length: usize) -> Option<usize> {
    let index = key.as_i64()?;
    let index = if index < 0 { index.checked_add(length as i64)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}
