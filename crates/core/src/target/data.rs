//! Matches `key:value` on grains and pillar: nested keys, any element of a list, numbers and booleans as text.

use std::collections::HashMap;

use super::{Error, pcre::Pcre};
use crate::pattern::glob;
use crate::value::{Map, Value};

/// Salt's default delimiter, which also separates the levels below a custom one.
pub const DELIMITER: &str = ":";

/// The limit of parts in a target; data is hardly ever nested that deeply.
const MAX_PARTS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataComparison {
    Glob,
    Regex,
    Exact,
}

/// A test of nested data. The end of the key isn't marked, so every split is tried, the longest key first.
#[derive(Clone, Debug)]
pub(super) struct DataTest {
    text: String,
    delimiter: String,
    comparison: DataComparison,
    /// The compiled pattern of each part of the text that may be the value.
    regexes: HashMap<String, Pcre>,
}

impl DataTest {
    pub fn new(text: &str, delimiter: &str, comparison: DataComparison) -> Result<DataTest, Error> {
        if delimiter.is_empty() {
            return Err(Error::EmptyDelimiter);
        }
        let ends = text.split(delimiter).take(MAX_PARTS + 1).count();
        if ends < 2 {
            return Err(Error::NoDelimiter { text: text.to_owned(), delimiter: delimiter.to_owned() });
        }
        if ends > MAX_PARTS || text.split(DELIMITER).take(MAX_PARTS + 1).count() > MAX_PARTS {
            return Err(Error::TooLarge(MAX_PARTS));
        }
        let regexes = if comparison == DataComparison::Regex { regexes(text, delimiter)? } else { HashMap::new() };
        Ok(DataTest { text: text.to_owned(), delimiter: delimiter.to_owned(), comparison, regexes })
    }

    pub fn matches(&self, data: &Map) -> bool {
        self.under(data, &self.text, &self.delimiter)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn comparison(&self) -> DataComparison {
        self.comparison
    }

    pub fn delimiter(&self) -> &str {
        &self.delimiter
    }

    fn under(&self, data: &Map, text: &str, delimiter: &str) -> bool {
        let splits: Vec<usize> = text.match_indices(delimiter).map(|(at, _)| at).collect();
        splits.into_iter().rev().any(|at| {
            let (key, rest) = (&text[..at], &text[at + delimiter.len()..]);
            if key == "*" {
                return !data.is_empty() && self.in_map(data, text);
            }
            match walk(data, key, delimiter) {
                None => false,
                Some(Value::Map(map)) => !map.is_empty() && self.in_map(map, rest),
                Some(Value::List(items)) => items
                    .iter()
                    .any(|item| item.as_map().is_some_and(|map| self.in_map(map, rest)) || self.is_value(item, rest)),
                Some(value) => self.is_value(value, rest),
            }
        })
    }

    fn in_map(&self, map: &Map, pattern: &str) -> bool {
        // `*:x` searches x under every key.
        let (every, pattern) = pattern.strip_prefix("*:").map_or((false, pattern), |rest| (true, rest));
        let is_key = pattern == "*" || map.keys().any(|key| self.is_value(key, pattern)) || map.contains_key(pattern);
        if is_key || self.under(map, pattern, DELIMITER) {
            return true;
        }
        every
            && map.values().any(|value| match value {
                Value::Map(inner) => self.in_map(inner, pattern),
                Value::List(items) => items.iter().any(|item| self.is_value(item, pattern)),
                value => self.is_value(value, pattern),
            })
    }

    fn is_value(&self, value: &Value, pattern: &str) -> bool {
        let text = value.to_string().to_lowercase();
        match self.comparison {
            DataComparison::Glob => glob::matches(&pattern.to_lowercase(), &text),
            DataComparison::Exact => pattern.to_lowercase() == text,
            DataComparison::Regex => self.regexes.get(pattern).is_some_and(|regex| regex.matches(&text)),
        }
    }
}

fn walk<'a>(data: &'a Map, path: &str, delimiter: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once(delimiter).map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = data.get(first).or_else(|| data.get_value(&Value::integer(first)?))?;
    rest.map_or(Some(value), |rest| value.walk(rest, delimiter))
}

/// Compiles every suffix of the text, since a colon in a pattern looks like a delimiter. It is an error only if no
/// suffix is a valid regular expression.
fn regexes(text: &str, delimiter: &str) -> Result<HashMap<String, Pcre>, Error> {
    let mut regexes = HashMap::new();
    let mut first_error = None;
    let ends = [delimiter, DELIMITER]
        .into_iter()
        .flat_map(|delimiter| text.match_indices(delimiter).map(move |(at, found)| &text[at + found.len()..]));
    for end in ends {
        match Pcre::ignoring_case(end) {
            Ok(regex) => drop(regexes.insert(end.to_owned(), regex)),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    match first_error {
        Some(error) if regexes.is_empty() => Err(error),
        _ => Ok(regexes),
    }
}
