//! [`Set`]: a Python set, which keeps the order of insertion.

use indexmap::IndexSet;

use super::Value;
use super::dict::Key;
use crate::error::Result;

#[derive(Default, Clone)]
pub struct Set(IndexSet<Key>);

impl Set {
    pub fn new() -> Set {
        Set::default()
    }

    /// Fails at a value that can't be hashed.
    pub fn collect(values: impl IntoIterator<Item = Value>) -> Result<Set> {
        let mut set = Set::new();
        for value in values {
            set.insert(value)?;
        }
        Ok(set)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, value: &Value) -> Result<bool> {
        Ok(self.0.contains(&Key::new(value.clone())?))
    }

    /// Whether it is new.
    pub fn insert(&mut self, value: Value) -> Result<bool> {
        Ok(self.0.insert(Key::new(value)?))
    }

    pub fn remove(&mut self, value: &Value) -> Result<bool> {
        Ok(self.0.shift_remove(&Key::new(value.clone())?))
    }

    pub fn pop(&mut self) -> Option<Value> {
        self.0.shift_remove_index(0).map(Key::into_value)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.iter().map(Key::value)
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.0.into_iter().map(Key::into_value).collect()
    }
}
