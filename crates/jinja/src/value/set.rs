//! [`PythonSet`]: a Python set, which keeps the order of insertion.

use indexmap::IndexSet;

use super::Value;
use super::dict::DictKey;
use crate::error::Result;

#[derive(Default, Clone)]
pub struct PythonSet(IndexSet<DictKey>);

impl PythonSet {
    pub fn new() -> PythonSet {
        PythonSet::default()
    }

    /// Builds a set; fails if a value can't be hashed.
    pub fn collect(values: impl IntoIterator<Item = Value>) -> Result<PythonSet> {
        let mut set = PythonSet::new();
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
        Ok(self.0.contains(&DictKey::new(value.clone())?))
    }

    /// Inserts a value; returns whether it is new.
    pub fn insert(&mut self, value: Value) -> Result<bool> {
        Ok(self.0.insert(DictKey::new(value)?))
    }

    pub fn remove(&mut self, value: &Value) -> Result<bool> {
        Ok(self.0.shift_remove(&DictKey::new(value.clone())?))
    }

    pub fn pop(&mut self) -> Option<Value> {
        self.0.shift_remove_index(0).map(DictKey::into_value)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.iter().map(DictKey::value)
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.0.into_iter().map(DictKey::into_value).collect()
    }
}
