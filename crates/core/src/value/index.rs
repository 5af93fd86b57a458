//! [`KeyIndex`]: finds a key in a large map by its hash; small maps are searched linearly.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::Value;
use crate::hash::Hasher;

/// The largest number of keys without an index: most maps of a state file have a single key.
pub(crate) const FEW: usize = 8;

/// The positions of keys in the caller's list; `key_at` returns the key at a position.
#[derive(Clone, Default)]
pub(crate) struct KeyIndex {
    table: HashTable<usize>,
    hasher: Hasher,
}

/// A key to look up.
#[derive(Clone, Copy)]
pub(crate) enum IndexKey<'a> {
    Text(&'a str),
    Other(&'a Value),
}

impl KeyIndex {
    /// Indexes the keys at positions 0 to `count`, which must differ.
    pub fn new<'a>(count: usize, key_at: impl Fn(usize) -> &'a Value) -> KeyIndex {
        let mut index = KeyIndex { table: HashTable::with_capacity(2 * count), hasher: Hasher::default() };
        (0..count).for_each(|place| index.insert(place, &key_at));
        index
    }

    pub fn find<'a>(&self, key: IndexKey<'_>, key_at: impl Fn(usize) -> &'a Value) -> Option<usize> {
        self.table.find(self.hash(key), |place| key.is(key_at(*place))).copied()
    }

    /// Adds a new key.
    pub fn insert<'a>(&mut self, place: usize, key_at: impl Fn(usize) -> &'a Value) {
        let hash = self.hash(key_at(place).into());
        let hasher = &self.hasher;
        self.table.insert_unique(hash, place, |place| hash_of(hasher, key_at(*place).into()));
    }

    /// Removes a key; the positions after it decrease by one.
    pub fn remove(&mut self, place: usize, key: &Value) {
        self.forget(place, key);
        self.table.iter_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
    }

    /// Removes a key; the last key, if it is another one, moves to its position.
    pub fn swap_remove(&mut self, place: usize, key: &Value, last: usize, last_key: &Value) {
        self.forget(place, key);
        if let Some(moved) = self.table.find_mut(self.hash(last_key.into()), |other| *other == last) {
            *moved = place;
        }
    }

    fn forget(&mut self, place: usize, key: &Value) {
        if let Ok(entry) = self.table.find_entry(self.hash(key.into()), |other| *other == place) {
            entry.remove();
        }
    }

    fn hash(&self, key: IndexKey<'_>) -> u64 {
        hash_of(&self.hasher, key)
    }
}

fn hash_of(hasher: &Hasher, key: IndexKey<'_>) -> u64 {
    match key {
        IndexKey::Text(text) => hasher.hash_one(text),
        IndexKey::Other(value) => hasher.hash_one(value),
    }
}

impl IndexKey<'_> {
    pub fn is(self, other: &Value) -> bool {
        match (self, other) {
            (IndexKey::Text(text), Value::String(other)) => text == other,
            (IndexKey::Text(_), _) => false,
            (IndexKey::Other(value), other) => value == other,
        }
    }
}

impl<'a> From<&'a Value> for IndexKey<'a> {
    fn from(value: &'a Value) -> IndexKey<'a> {
        match value {
            Value::String(text) => IndexKey::Text(text),
            other => IndexKey::Other(other),
        }
    }
}
