//! `no_return`: targets that didn't answer, in red.

use rocksalt_core::Value;

use super::palette::Palette;
use super::{Outputter, Style, finish, named, python};

pub struct NoReturn;

impl Outputter for NoReturn {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        let mut out = String::new();
        display(&named(id, value), 0, Palette::of(style), &mut out);
        finish(&out)
    }
}

fn display(value: &Value, indent: usize, palette: &Palette, out: &mut String) {
    match value {
        Value::Map(map) => {
            for (key, value) in python::sorted(map) {
                out.push_str(&format!("{}{:indent$}{}{}:\n", palette.cyan, "", python::text(key), palette.end));
                display(value, indent + 4, palette, out);
            }
        }
        other => {
            for line in python::text(other).split('\n') {
                out.push_str(&format!("{}{:indent$}{line}{}\n", palette.red, "", palette.end));
            }
        }
    }
}
