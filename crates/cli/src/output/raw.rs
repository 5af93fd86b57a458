//! `raw`: the Python literal of `{id: value}`.

use rocksalt_core::{Map, Value};

use super::{Outputter, Style, named, python};

pub struct Raw;

impl Outputter for Raw {
    fn one(&self, id: &str, value: &Value, _: &Style) -> String {
        format!("{}\n", python::repr(&named(id, value)))
    }

    fn all(&self, results: &Map, _: &Style) -> String {
        format!("{}\n", python::repr(&Value::Map(results.clone())))
    }
}
