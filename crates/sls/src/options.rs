//! Reads the compiler's options from the configuration.

use rocksalt_core::{Map, Value};

/// An option as text.
pub(crate) fn text<'a>(options: &'a Map, name: &str) -> Option<&'a str> {
    options.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// An option that is on or off; off by default.
pub(crate) fn switch(options: &Map, name: &str) -> bool {
    options.get(name).is_some_and(Value::truth)
}

/// An option that is one name or a list of names.
pub(crate) fn names<'a>(options: &'a Map, name: &str) -> Vec<&'a str> {
    match options.get(name) {
        Some(Value::List(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text],
        _ => Vec::new(),
    }
}
