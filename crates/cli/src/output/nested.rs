//! `nested`: indented lines, Salt's default.

use rocksalt_core::Value;

use super::palette::Palette;
use super::{Outputter, Style, finish, named, python};

pub struct Nested;

impl Outputter for Nested {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        finish(&block(&named(id, value), 0, style))
    }

    fn failed(&self, id: &str, value: &Value, style: &Style) -> String {
        let palette = Palette::of(style);
        finish(&print(
            &named(id, value),
            0,
            NestedLines { palette, list: palette.red, map: palette.red, out: Vec::new() },
        ))
    }
}

/// Lines indented by `indent`, without a newline at the end.
pub fn block(value: &Value, indent: usize, style: &Style) -> String {
    let palette = Palette::of(style);
    print(value, indent, NestedLines { palette, list: palette.green, map: palette.cyan, out: Vec::new() })
}

fn print(value: &Value, indent: usize, mut lines: NestedLines) -> String {
    lines.value(value, indent, "");
    lines.out.join("\n")
}

struct NestedLines {
    palette: &'static Palette,
    list: &'static str,
    map: &'static str,
    out: Vec<String>,
}

impl NestedLines {
    fn value(&mut self, value: &Value, indent: usize, prefix: &str) {
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                self.line(indent, self.palette.light_yellow, &format!("{prefix}{}", python::repr(value)), "");
            }
            Value::String(text) => self.text(text, indent, prefix),
            Value::Bytes(bytes) => self.text(&String::from_utf8_lossy(bytes), indent, prefix),
            Value::List(items) => {
                for item in items {
                    if item.is_scalar() {
                        self.value(item, indent, "- ");
                    } else {
                        self.line(indent, self.list, "|_", "");
                        self.value(item, indent + 2, "");
                    }
                }
            }
            Value::Map(map) => {
                if indent > 0 {
                    self.line(indent, self.map, "----------", "");
                }
                for (key, value) in python::sorted(map) {
                    self.line(indent, self.map, &python::text(key), ":");
                    self.value(value, indent + 4, "");
                }
            }
        }
    }

    fn text(&mut self, text: &str, indent: usize, prefix: &str) {
        let mut prefix = prefix.to_owned();
        // Otherwise an empty item would be invisible, and the list would look shorter than it is.
        if text.is_empty() && !prefix.is_empty() {
            self.line(indent, self.palette.green, &prefix, "");
        }
        for line in python::lines(text) {
            self.line(indent, self.palette.green, &format!("{prefix}{line}"), "");
            prefix = " ".repeat(prefix.len());
        }
    }

    fn line(&mut self, indent: usize, colour: &str, text: &str, suffix: &str) {
        self.out.push(format!("{:indent$}{colour}{text}{}{suffix}", "", self.palette.end));
    }
}
