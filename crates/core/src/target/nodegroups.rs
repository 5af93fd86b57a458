//! [`Nodegroups`]: names for target expressions, from the configuration or a roster.

use indexmap::IndexMap;

use super::Error;
use crate::value::Value;

/// The groups by name, each as the words of a compound target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodegroups(IndexMap<String, Vec<String>>);

impl Nodegroups {
    pub fn new() -> Nodegroups {
        Nodegroups::default()
    }

    /// Parses the configuration's `nodegroups`: a map of texts or lists of words.
    pub fn from_value(value: &Value) -> Result<Nodegroups, Error> {
        let mut nodegroups = Nodegroups::new();
        if value.is_null() {
            return Ok(nodegroups);
        }
        let Some(map) = value.as_map() else {
            return Err(Error::BadNodegroup { name: "*".into(), kind: value.kind() });
        };
        for (name, definition) in map.iter() {
            let name = name.to_string();
            match definition {
                Value::String(text) => nodegroups.insert(name, text),
                Value::List(words) => nodegroups.insert_words(name, words.iter().map(Value::to_string)),
                other => return Err(Error::BadNodegroup { name, kind: other.kind() }),
            }
        }
        Ok(nodegroups)
    }

    pub fn insert(&mut self, name: impl Into<String>, text: &str) {
        self.insert_words(name, text.split_whitespace().map(str::to_owned));
    }

    /// Inserts a group as a list of words, in which a word may contain spaces.
    pub fn insert_words(&mut self, name: impl Into<String>, words: impl IntoIterator<Item = String>) {
        self.0.insert(name.into(), words.into_iter().collect());
    }

    pub fn get(&self, name: &str) -> Option<&[String]> {
        self.0.get(name).map(Vec::as_slice)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Collects the groups of a roster; the last group of a name wins.
impl<'a> FromIterator<&'a (String, String)> for Nodegroups {
    fn from_iter<I: IntoIterator<Item = &'a (String, String)>>(groups: I) -> Nodegroups {
        let mut nodegroups = Nodegroups::new();
        for (name, text) in groups {
            nodegroups.insert(name.clone(), text);
        }
        nodegroups
    }
}
