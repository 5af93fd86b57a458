//! [`Setting`]: all that a compilation depends on besides the files themselves.

use std::rc::Rc;

use rocksalt_core::{Map, Value};

use crate::functions::{Decrypt, Functions};
use crate::sources::Sources;

/// The machine, its configuration and what it may use.
#[derive(Clone)]
pub struct Setting<'a> {
    pub id: &'a str,
    /// The minion's configuration: `opts` in templates, and the compiler's own options.
    pub options: &'a Map,
    pub grains: &'a Map,
    pub pillar: &'a Map,
    /// Shared, as templates hold on to them, and so do the functions.
    pub sources: Rc<dyn Sources>,
    pub functions: Rc<dyn Functions>,
    pub decrypt: &'a dyn Decrypt,
    /// For the filters of templates that look at the machine, the clock or random numbers.
    pub machine: Option<Rc<dyn rocksalt_jinja::Machine>>,
    /// The one environment that is asked for; none: all of them, by the top file.
    pub saltenv: Option<&'a str>,
    pub pillarenv: Option<&'a str>,
}

/// An option as text.
pub(crate) fn text<'a>(options: &'a Map, name: &str) -> Option<&'a str> {
    options.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// An option as a switch, which is off unless it's said.
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
