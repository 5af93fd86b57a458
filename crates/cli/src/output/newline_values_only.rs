//! `newline_values_only`: the bare values, one per line, for shell loops.

use rocksalt_core::Value;

use super::{Outputter, Style, python};

pub struct ValuesOnly;

impl Outputter for ValuesOnly {
    fn one(&self, _: &str, value: &Value, _: &Style) -> String {
        let items = match value {
            Value::List(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        items.iter().map(|item| format!("{}\n", python::text(item).trim_end_matches('\n'))).collect()
    }
}
