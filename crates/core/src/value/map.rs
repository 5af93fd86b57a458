//! [`Map`]: an ordered map whose keys may be any scalar.

use std::fmt;

use super::Value;
use super::index::{FEW, IndexKey, KeyIndex};

/// A map that keeps the order of insertion. The order doesn't matter for equality.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(Value, Value)>,
    /// Only a map with more than a few keys has an index.
    index: Option<Box<KeyIndex>>,
}

impl Map {
    pub const fn new() -> Map {
        Map { entries: Vec::new(), index: None }
    }

    pub fn with_capacity(entries: usize) -> Map {
        Map { entries: Vec::with_capacity(entries), index: None }
    }

    /// Creates a map from entries with distinct keys.
    pub(crate) fn of_distinct(entries: Vec<(Value, Value)>) -> Map {
        let mut map = Map { entries, index: None };
        map.build_index();
        map
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(IndexKey::Text(key)).map(|place| &self.entries[place].1)
    }

    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.find(key.into()).map(|place| &self.entries[place].1)
    }

    /// The value at a path such as `ip_interfaces:eth0:0`, found like [`Value::walk`] does.
    pub fn walk(&self, path: &str, delimiter: &str) -> Option<&Value> {
        match path.split_once(delimiter) {
            Some((first, rest)) if !delimiter.is_empty() => self.step(first)?.walk(rest, delimiter),
            _ => self.step(path),
        }
    }

    pub(super) fn step(&self, key: &str) -> Option<&Value> {
        self.get(key).or_else(|| match crate::yaml::resolve(key) {
            Value::String(_) => None,
            other => self.get_value(&other),
        })
    }

    pub fn get_value_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.find(key.into()).map(|place| &mut self.entries[place].1)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.find(IndexKey::Text(key)).map(|place| &mut self.entries[place].1)
    }

    /// The position of a text key in the order.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.find(IndexKey::Text(key))
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.find(IndexKey::Text(key)).is_some()
    }

    /// Inserts a value and returns the previous one. An existing key keeps its position.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        self.put(key.into(), value.into())
    }

    fn put(&mut self, key: Value, value: Value) -> Option<Value> {
        if let Some(place) = self.find((&key).into()) {
            return Some(std::mem::replace(&mut self.entries[place].1, value));
        }
        self.push(key, value);
        None
    }

    /// Removes a value; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.find(IndexKey::Text(key))?;
        if let Some(index) = &mut self.index {
            index.remove(place, &self.entries[place].0);
        }
        Some(self.entries.remove(place).1)
    }

    /// Removes a value in constant time: the last entry moves to its position.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let place = self.find(IndexKey::Text(key))?;
        if let Some(index) = &mut self.index {
            let last = self.entries.len() - 1;
            index.swap_remove(place, &self.entries[place].0, last, &self.entries[last].0);
        }
        Some(self.entries.swap_remove(place).1)
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.entries.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Value, &mut Value)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The value of a text key; inserts null if the key is missing.
    pub fn entry(&mut self, key: &str) -> &mut Value {
        let place = self.find(IndexKey::Text(key)).unwrap_or_else(|| {
            self.push(key.into(), Value::Null);
            self.entries.len() - 1
        });
        &mut self.entries[place].1
    }

    /// Sorts by the printed keys.
    pub fn sort(&mut self) {
        self.entries.sort_by_cached_key(|(key, _)| key.to_string());
        self.build_index();
    }

    fn find(&self, key: IndexKey<'_>) -> Option<usize> {
        match &self.index {
            None => self.entries.iter().position(|(there, _)| key.is(there)),
            Some(index) => index.find(key, |place| &self.entries[place].0),
        }
    }

    fn push(&mut self, key: Value, value: Value) {
        self.entries.push((key, value));
        match &mut self.index {
            None => self.build_index(),
            Some(index) => index.insert(self.entries.len() - 1, |place| &self.entries[place].0),
        }
    }

    fn build_index(&mut self) {
        let count = self.entries.len();
        self.index = (count > FEW).then(|| Box::new(KeyIndex::new(count, |place| &self.entries[place].0)));
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get_value(key) == Some(value))
    }
}

impl Eq for Map {}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Map {
        let pairs = pairs.into_iter();
        let mut map = Map::with_capacity(pairs.size_hint().0);
        map.extend(pairs);
        map
    }
}

impl Extend<(Value, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Value, Value)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.put(key, value);
        }
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;

    /// An operation on a map; there are few keys, so that operations collide.
    #[derive(Clone, Debug)]
    enum Action {
        Insert(u8),
        Remove(u8),
        Take(u8),
        Entry(u8),
        Sort,
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            6 => (0..40u8).prop_map(Action::Insert),
            2 => (0..40u8).prop_map(Action::Remove),
            2 => (0..40u8).prop_map(Action::Take),
            2 => (0..40u8).prop_map(Action::Entry),
            1 => Just(Action::Sort),
        ]
    }

    proptest! {
        /// The map behaves like one that always has an index.
        #[test]
        fn it_is_an_ordered_map(actions in prop::collection::vec(action(), 0..200)) {
            let (mut map, mut model) = (Map::new(), IndexMap::<String, Value>::new());
            for (step, action) in actions.into_iter().enumerate() {
                let name = |key: u8| format!("key {key}");
                let value = Value::Int(step as i64);
                match action {
                    Action::Insert(key) => {
                        prop_assert_eq!(map.insert(name(key), value.clone()), model.insert(name(key), value));
                    }
                    Action::Remove(key) => prop_assert_eq!(map.remove(&name(key)), model.shift_remove(&name(key))),
                    Action::Take(key) => prop_assert_eq!(map.take(&name(key)), model.swap_remove(&name(key))),
                    Action::Entry(key) => {
                        prop_assert_eq!(map.entry(&name(key)), model.entry(name(key)).or_default());
                    }
                    Action::Sort => {
                        map.sort();
                        model.sort_keys();
                    }
                }
                for key in 0..40 {
                    prop_assert_eq!(map.position(&name(key)), model.get_index_of(&name(key)));
                }
                let pairs: Vec<(Value, Value)> = model.iter().map(|(key, value)| (key.as_str().into(), value.clone())).collect();
                prop_assert_eq!(map.clone().into_iter().collect::<Vec<_>>(), pairs.clone());
                prop_assert_eq!(&map, &pairs.into_iter().rev().collect::<Map>());
            }
        }
    }

    #[test]
    fn keys_of_any_kind_differ() {
        let keys: Vec<Value> = (0..20).flat_map(|n: i64| [n.into(), n.to_string().into(), (n as f64).into()]).collect();
        let map: Map = keys.iter().map(|key| (key.clone(), key.clone())).collect();
        assert_eq!(map.len(), keys.len());
        for key in &keys {
            assert_eq!(map.get_value(key), Some(key));
        }
    }

    #[test]
    fn a_value_is_small() {
        assert_eq!(size_of::<Value>(), 32, "every scalar of every file is one");
    }
}
