//! Iterates over a value, for `for` and most filters.

use std::rc::Rc;

use super::{Dict, Generator, MarkupText, PythonObject, SharedCell, Value};
use crate::error::{Error, Result};
use crate::globals::RangeObject;

/// An iterator. As in Python, it sees changes that are made to a list meanwhile.
pub struct Iter(IterationSource);

enum IterationSource {
    Items(std::vec::IntoIter<Value>),
    List(Rc<SharedCell<Vec<Value>>>, usize),
    Dict {
        dict: Rc<SharedCell<Dict>>,
        next: usize,
        length: usize,
    },
    Text {
        text: MarkupText,
        next: usize,
    },
    /// A generator, which continues where an earlier iteration stopped.
    Generator(Rc<dyn PythonObject>),
    Range {
        next: i64,
        step: i64,
        left: u64,
    },
}

impl Value {
    /// Iterates like Python's `iter(x)`.
    pub fn iterate(&self) -> Result<Iter> {
        Ok(Iter(match self {
            Value::List(items) | Value::Tuple(items) => IterationSource::List(Rc::clone(items), 0),
            Value::Dict(dict) => {
                let length = dict.borrow().len();
                IterationSource::Dict { dict: Rc::clone(dict), next: 0, length }
            }
            Value::String(text) => IterationSource::Text { text: text.clone(), next: 0 },
            Value::Set(set) => IterationSource::Items(set.borrow().iter().cloned().collect::<Vec<_>>().into_iter()),
            Value::Bytes(bytes) => IterationSource::Items(
                bytes.iter().map(|byte| Value::Int(i64::from(*byte))).collect::<Vec<_>>().into_iter(),
            ),
            Value::Undefined(_) => {
                self.must_be_usable()?;
                IterationSource::Items(Vec::new().into_iter())
            }
            Value::Object(object) => {
                if self.downcast::<Generator>().is_some() {
                    IterationSource::Generator(Rc::clone(object))
                } else if let Some(range) = self.downcast::<RangeObject>() {
                    IterationSource::Range { next: range.start, step: range.step, left: range.count() }
                } else if let Some(items) = object.iterate() {
                    IterationSource::Items(items.into_iter())
                } else {
                    return Err(self.not_iterable());
                }
            }
            _ => return Err(self.not_iterable()),
        }))
    }

    /// Collects all items.
    pub fn to_vec(&self) -> Result<Vec<Value>> {
        match self {
            Value::List(items) | Value::Tuple(items) => Ok(items.borrow().clone()),
            _ => self.iterate()?.collect(),
        }
    }

    pub(crate) fn is_iterable(&self) -> bool {
        match self {
            Value::Object(object) => {
                self.downcast::<Generator>().is_some()
                    || self.downcast::<RangeObject>().is_some()
                    || object.iterate().is_some()
            }
            Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => false,
            _ => true,
        }
    }

    fn not_iterable(&self) -> Error {
        Error::type_error(format!("'{}' object is not iterable", self.type_name()))
    }
}

impl Iter {
    /// The number of remaining items, as far as it is known.
    pub fn remaining(&self) -> usize {
        match &self.0 {
            IterationSource::Items(items) => items.len(),
            IterationSource::List(items, next) => items.borrow().len().saturating_sub(*next),
            IterationSource::Dict { next, length, .. } => length.saturating_sub(*next),
            IterationSource::Text { text, next } => text[*next..].chars().count(),
            IterationSource::Range { left, .. } => *left as usize,
            IterationSource::Generator(_) => 0,
        }
    }
}

impl Iterator for Iter {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Result<Value>> {
        match &mut self.0 {
            IterationSource::Items(items) => items.next().map(Ok),
            IterationSource::List(items, next) => {
                let item = items.borrow().get(*next).cloned()?;
                *next += 1;
                Some(Ok(item))
            }
            IterationSource::Dict { dict, next, length } => {
                let dict = dict.borrow();
                if dict.len() != *length {
                    *next = *length;
                    *length = dict.len();
                    return Some(Err(Error::exception("RuntimeError", "dictionary changed size during iteration")));
                }
                let (key, _) = dict.get_index(*next)?;
                *next += 1;
                Some(Ok(key.clone()))
            }
            IterationSource::Text { text, next } => {
                let c = text[*next..].chars().next()?;
                *next += c.len_utf8();
                Some(Ok(Value::from(c)))
            }
            IterationSource::Range { next, step, left } => {
                *left = left.checked_sub(1)?;
                let value = *next;
                *next = next.wrapping_add(*step);
                Some(Ok(Value::Int(value)))
            }
            IterationSource::Generator(object) => {
                let generator = (&**object as &dyn std::any::Any).downcast_ref::<Generator>()?;
                generator.take_next().map(Ok)
            }
        }
    }
}
