//! Prints results.
//!
//! To add an outputter: a file here and a line in [`ALL`].

mod highstate;
mod json;
mod jsonl;
mod nested;
mod newline_values_only;
mod no_return;
mod palette;
mod pprint;
mod python;
mod quiet;
mod raw;
mod table;
mod terminal;
mod txt;
mod yaml;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod conformance;

use rocksalt_core::{Map, Value, nearest};

use terminal::Guard;
pub use terminal::clean;

/// Converts a value to text.
pub trait Outputter {
    /// One target's result, as it arrives. Ends with a newline unless it is empty.
    fn one(&self, id: &str, value: &Value, style: &Style) -> String;

    /// As [`one`](Outputter::one), for a result whose return code isn't 0; some outputters print it in red.
    fn failed(&self, id: &str, value: &Value, style: &Style) -> String {
        self.one(id, value, style)
    }

    /// Prints data that belongs to no target.
    fn bare(&self, value: &Value, style: &Style) -> String {
        self.one("local", value, style)
    }

    /// All results at once (`--static`), in the roster's order.
    fn all(&self, results: &Map, style: &Style) -> String {
        results.iter().map(|(id, value)| self.one(&id.to_string(), value, style)).collect()
    }
}

/// The capabilities of the place where the output is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub colours: bool,
    /// In characters; `None` if it isn't a terminal.
    pub width: Option<usize>,
    /// Salt's `--out-indent`; `None` is the outputter's default, a negative number means a single line.
    pub indent: Option<i32>,
}

impl Style {
    /// Whether the output may reach a terminal, which interprets control characters.
    pub fn is_terminal(&self) -> bool {
        self.colours || self.width.is_some()
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("there is no outputter '{name}'{hint}")]
    Unknown { name: String, hint: String },
    #[error("'{key}: {value}' is not a setting of the output: {expected}")]
    Setting { key: &'static str, value: String, expected: String },
}

/// The names of all outputters, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name)
}

/// Finds an outputter by its name, with Salt's default settings.
#[cfg(test)]
pub fn open(name: &str) -> Result<Box<dyn Outputter>, Error> {
    open_with(name, &Map::new())
}

/// Finds an outputter by its name; `settings` is the configuration, from which it reads its own keys (`state_output`
/// …).
pub fn open_with(name: &str, settings: &Map) -> Result<Box<dyn Outputter>, Error> {
    // Salt accepts this name too.
    let wanted = if name == "text" { "txt" } else { name };
    match ALL.iter().find(|entry| entry.name == wanted) {
        Some(entry) => Ok(Box::new(Guard { inner: (entry.make)(settings)?, escapes: entry.escapes })),
        None => Err(Error::Unknown { name: name.to_owned(), hint: nearest::hint(name, names()) }),
    }
}

struct OutputFormat {
    name: &'static str,
    escapes: Escapes,
    make: fn(&Map) -> Result<Box<dyn Outputter>, Error>,
}

/// How a format handles control characters in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    /// The format prints text unchanged: for a terminal the data must be escaped first.
    Nothing,
    /// The format has its own escapes (`\u001b`), which must stay readable by programs.
    Itself,
}

const ALL: &[OutputFormat] = &[
    OutputFormat {
        name: "highstate",
        escapes: Escapes::Nothing,
        make: |settings| highstate::Highstate::open(settings),
    },
    OutputFormat { name: "json", escapes: Escapes::Itself, make: |_| Ok(Box::new(json::Json)) },
    OutputFormat { name: "jsonl", escapes: Escapes::Itself, make: |_| Ok(Box::new(jsonl::JsonLines)) },
    OutputFormat { name: "nested", escapes: Escapes::Nothing, make: |_| Ok(Box::new(nested::Nested)) },
    OutputFormat {
        name: "newline_values_only",
        escapes: Escapes::Nothing,
        make: |_| Ok(Box::new(newline_values_only::ValuesOnly)),
    },
    OutputFormat { name: "no_out", escapes: Escapes::Nothing, make: |_| Ok(Box::new(quiet::Quiet)) },
    OutputFormat { name: "no_return", escapes: Escapes::Nothing, make: |_| Ok(Box::new(no_return::NoReturn)) },
    OutputFormat { name: "pprint", escapes: Escapes::Itself, make: |_| Ok(Box::new(pprint::PrettyPrint)) },
    OutputFormat { name: "quiet", escapes: Escapes::Nothing, make: |_| Ok(Box::new(quiet::Quiet)) },
    OutputFormat { name: "raw", escapes: Escapes::Itself, make: |_| Ok(Box::new(raw::Raw)) },
    OutputFormat { name: "table", escapes: Escapes::Nothing, make: |_| Ok(Box::new(table::Table)) },
    OutputFormat { name: "txt", escapes: Escapes::Nothing, make: |_| Ok(Box::new(txt::Text)) },
    OutputFormat { name: "yaml", escapes: Escapes::Itself, make: |_| Ok(Box::new(yaml::Yaml)) },
];

/// The end of an output: no trailing blanks, then one newline; an empty output stays empty.
fn finish(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

/// The result under its target's name, as Salt's outputters get it.
fn named(id: &str, value: &Value) -> Value {
    Value::Map(Map::from_iter([(id.into(), value.clone())]))
}
