//! `txt`: every line of a result after its target's name.

use rocksalt_core::Value;

use super::{Outputter, Style, finish, python};

pub struct Text;

impl Outputter for Text {
    fn one(&self, id: &str, value: &Value, _: &Style) -> String {
        let text: String = match value {
            Value::String(_) | Value::Bytes(_) => {
                python::lines(&python::text(value)).iter().map(|line| format!("{id}: {line}\n")).collect()
            }
            other => format!("{id}: {}\n", python::repr(other)),
        };
        finish(&text)
    }
}
