//! [`Dict`]: a Python dict, which keeps the order of insertion.

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexMap};

use super::{MarkupText, Value, visit};
use crate::error::{Error, Result};

/// A dict. Keys compare as in Python: `1`, `1.0` and `True` are the same key.
#[derive(Clone)]
pub struct Dict {
    entries: IndexMap<DictKey, Value>,
    class: &'static str,
}

/// The class of dicts that Salt reads from YAML. Such a dict is written in its own order, where others are sorted.
pub const ORDERED: &str = "collections.OrderedDict";

impl Default for Dict {
    fn default() -> Dict {
        Dict { entries: IndexMap::new(), class: "dict" }
    }
}

/// A value that can be hashed.
#[derive(Clone)]
pub(super) struct DictKey(Value);

impl DictKey {
    pub(super) fn new(value: Value) -> Result<DictKey> {
        hashable(&value, 0, &Cell::new(0))?;
        Ok(DictKey(value))
    }

    pub(super) fn value(&self) -> &Value {
        &self.0
    }

    pub(super) fn into_value(self) -> Value {
        self.0
    }
}

fn hashable(value: &Value, depth: usize, visits: &Cell<usize>) -> Result<()> {
    match value {
        Value::List(_) | Value::Dict(_) | Value::Set(_) => {
            Err(Error::type_error(format!("unhashable type: '{}'", value.type_name())))
        }
        Value::Tuple(items) => {
            visit(visits, depth, "hashing")?;
            items.borrow().iter().try_for_each(|item| hashable(item, depth + 1, visits))
        }
        Value::Undefined(_) => value.must_be_usable(),
        _ => Ok(()),
    }
}

impl PartialEq for DictKey {
    fn eq(&self, other: &DictKey) -> bool {
        self.0.same(&other.0) || self.0.equals(&other.0).unwrap_or(false)
    }
}

impl Eq for DictKey {}

impl Hash for DictKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

/// Equal values have equal hashes; a string's hash is that of its `str`.
fn hash<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::String(text) => (**text).hash(state),
        Value::Bool(flag) => i64::from(*flag).hash(state),
        Value::Int(number) => number.hash(state),
        Value::BigInt(number) => number.hash(state),
        Value::Float(number) => match super::integer::of_float(*number) {
            Some(integer) if *number == number.trunc() => hash(&integer, state),
            _ => number.to_bits().hash(state),
        },
        Value::Bytes(bytes) => bytes.hash(state),
        Value::Tuple(items) => items.borrow().iter().for_each(|item| hash(item, state)),
        _ => 0u8.hash(state),
    }
}

/// A borrowed string as a key.
#[derive(Hash)]
struct NameKey<'a>(&'a str);

impl Equivalent<DictKey> for NameKey<'_> {
    fn equivalent(&self, key: &DictKey) -> bool {
        matches!(&key.0, Value::String(text) if **text == *self.0)
    }
}

impl Dict {
    pub fn new() -> Dict {
        Dict::default()
    }

    /// The Python class, `dict` by default.
    pub fn class(&self) -> &'static str {
        self.class
    }

    pub fn set_class(&mut self, class: &'static str) {
        self.class = class;
    }

    /// Whether it is written in its own order.
    pub fn is_ordered(&self) -> bool {
        self.class == ORDERED
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Looks up a key; fails if the value can't be a key.
    pub fn get(&self, key: &Value) -> Result<Option<&Value>> {
        match key {
            Value::String(text) => Ok(self.get_str(text)),
            other => Ok(self.entries.get(&DictKey::new(other.clone())?)),
        }
    }

    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.entries.get(&NameKey(key))
    }

    pub fn contains(&self, key: &Value) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Inserts a value and returns the previous one. An existing key keeps its position.
    pub fn insert(&mut self, key: Value, value: Value) -> Result<Option<Value>> {
        Ok(self.entries.insert(DictKey::new(key)?, value))
    }

    pub fn insert_str(&mut self, key: &str, value: Value) -> Option<Value> {
        self.entries.insert(DictKey(Value::String(MarkupText::new(key))), value)
    }

    pub fn remove(&mut self, key: &Value) -> Result<Option<Value>> {
        Ok(self.entries.shift_remove(&DictKey::new(key.clone())?))
    }

    pub fn pop_last(&mut self) -> Option<(Value, Value)> {
        self.entries.pop().map(|(key, value)| (key.0, value))
    }

    pub fn clear(&mut self) -> Vec<Value> {
        std::mem::take(self).into_values()
    }

    pub fn get_index(&self, index: usize) -> Option<(&Value, &Value)> {
        self.entries.get_index(index).map(|(key, value)| (&key.0, value))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (&key.0, value))
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.keys().map(|key| &key.0)
    }

    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.values()
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.entries.into_iter().flat_map(|(key, value)| [key.0, value]).collect()
    }
}

/// Builds a dict from string keys.
impl<'a> FromIterator<(&'a str, Value)> for Dict {
    fn from_iter<I: IntoIterator<Item = (&'a str, Value)>>(pairs: I) -> Dict {
        let mut dict = Dict::new();
        for (key, value) in pairs {
            dict.insert_str(key, value);
        }
        dict
    }
}
