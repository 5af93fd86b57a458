//! [`Map`]: an ordered map whose keys may be any scalar.

use std::fmt;

use indexmap::IndexMap;

use super::Value;

/// Keeps the order in which keys were first inserted; equal to another map whatever the order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Map(IndexMap<Value, Value>);

impl Map {
    pub fn new() -> Map {
        Map::default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(&Text(key))
    }

    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(&Text(key))
    }

    pub fn get_value_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Where a text key stands in the order.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.0.get_index_of(&Text(key))
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(&Text(key))
    }

    /// Puts a value in; a key that was there keeps its place. Returns what it replaced.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(key.into(), value.into())
    }

    /// Takes a value out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(&Text(key))
    }

    /// Takes a value out in constant time: the last one gets its place.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.swap_remove(&Text(key))
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.0.keys()
    }

    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.0.values()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Value, &mut Value)> {
        self.0.iter_mut()
    }

    /// The value under a text key, made if it isn't there.
    pub fn entry(&mut self, key: &str) -> &mut Value {
        self.0.entry(key.into()).or_default()
    }

    /// Sorts by keys as they print.
    pub fn sort(&mut self) {
        self.0.sort_by_cached_key(|key, _| key.to_string());
    }
}

/// A borrowed text key, hashed as [`Value::String`] is.
#[derive(Hash)]
struct Text<'a>(&'a str);

impl indexmap::Equivalent<Value> for Text<'_> {
    fn equivalent(&self, key: &Value) -> bool {
        matches!(key, Value::String(text) if text == self.0)
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Map {
        Map(pairs.into_iter().collect())
    }
}

impl Extend<(Value, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Value, Value)>>(&mut self, pairs: I) {
        self.0.extend(pairs);
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = indexmap::map::IntoIter<Value, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
