//! `yaml`: block style, keys sorted as Salt sorts them.

use rocksalt_core::{Map, Value, yaml};

use super::{Outputter, Style, json, named, python};

pub struct Yaml;

impl Outputter for Yaml {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        print(&named(id, &python::sorted_deeply(value)), style)
    }

    /// Keeps the order of keys: users expect the order in which they wrote them.
    fn bare(&self, value: &Value, style: &Style) -> String {
        print(value, style)
    }

    fn all(&self, results: &Map, style: &Style) -> String {
        let results: Map = results.iter().map(|(id, value)| (id.clone(), python::sorted_deeply(value))).collect();
        print(&Value::Map(results), style)
    }
}

fn print(value: &Value, style: &Style) -> String {
    match style.indent {
        // A line of JSON is also valid YAML.
        Some(..0) => format!("{}\n", json::one_line(value)),
        _ => yaml::emit(value),
    }
}
