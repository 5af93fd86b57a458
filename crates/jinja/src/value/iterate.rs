//! Walking through a value, as `for` and most filters do.

use std::rc::Rc;

use super::{Dict, Generator, Object, Shared, Text, Value};
use crate::error::{Error, Result};
use crate::globals::Range;

/// Sees changes of a list that are made while it is walked, as Python's iterators do.
pub struct Iter(Source);

enum Source {
    Items(std::vec::IntoIter<Value>),
    List(Rc<Shared<Vec<Value>>>, usize),
    Dict {
        dict: Rc<Shared<Dict>>,
        next: usize,
        length: usize,
    },
    Text {
        text: Text,
        next: usize,
    },
    /// A generator, which stays where the walk was left.
    Generator(Rc<dyn Object>),
    Range {
        next: i64,
        step: i64,
        left: u64,
    },
}

impl Value {
    /// Python's `iter(x)`.
    pub fn iterate(&self) -> Result<Iter> {
        Ok(Iter(match self {
            Value::List(items) | Value::Tuple(items) => Source::List(Rc::clone(items), 0),
            Value::Dict(dict) => {
                let length = dict.borrow().len();
                Source::Dict { dict: Rc::clone(dict), next: 0, length }
            }
            Value::String(text) => Source::Text { text: text.clone(), next: 0 },
            Value::Set(set) => Source::Items(set.borrow().iter().cloned().collect::<Vec<_>>().into_iter()),
            Value::Bytes(bytes) => {
                Source::Items(bytes.iter().map(|byte| Value::Int(i64::from(*byte))).collect::<Vec<_>>().into_iter())
            }
            Value::Undefined(_) => {
                self.must_be_usable()?;
                Source::Items(Vec::new().into_iter())
            }
            Value::Object(object) => {
                if self.downcast::<Generator>().is_some() {
                    Source::Generator(Rc::clone(object))
                } else if let Some(range) = self.downcast::<Range>() {
                    Source::Range { next: range.start, step: range.step, left: range.count() }
                } else if let Some(items) = object.iterate() {
                    Source::Items(items.into_iter())
                } else {
                    return Err(self.not_iterable());
                }
            }
            _ => return Err(self.not_iterable()),
        }))
    }

    /// All items at once.
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
                    || self.downcast::<Range>().is_some()
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
    /// How many items are left, as far as one can know.
    pub fn remaining(&self) -> usize {
        match &self.0 {
            Source::Items(items) => items.len(),
            Source::List(items, next) => items.borrow().len().saturating_sub(*next),
            Source::Dict { next, length, .. } => length.saturating_sub(*next),
            Source::Text { text, next } => text[*next..].chars().count(),
            Source::Range { left, .. } => *left as usize,
            Source::Generator(_) => 0,
        }
    }
}

impl Iterator for Iter {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Result<Value>> {
        match &mut self.0 {
            Source::Items(items) => items.next().map(Ok),
            Source::List(items, next) => {
                let item = items.borrow().get(*next).cloned()?;
                *next += 1;
                Some(Ok(item))
            }
            Source::Dict { dict, next, length } => {
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
            Source::Text { text, next } => {
                let c = text[*next..].chars().next()?;
                *next += c.len_utf8();
                Some(Ok(Value::from(c)))
            }
            Source::Range { next, step, left } => {
                *left = left.checked_sub(1)?;
                let value = *next;
                *next = next.wrapping_add(*step);
                Some(Ok(Value::Int(value)))
            }
            Source::Generator(object) => {
                let generator = (&**object as &dyn std::any::Any).downcast_ref::<Generator>()?;
                generator.take_next().map(Ok)
            }
        }
    }
}
