//! `json`: an object for each target, or one for all with `--static`.

use std::io::{self, Write};

use rocksalt_core::{Map, Value, json};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::{Outputter, Style, named};

pub struct Json;

impl Outputter for Json {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        print(&named(id, value), style)
    }

    fn bare(&self, value: &Value, style: &Style) -> String {
        print(value, style)
    }

    fn all(&self, results: &Map, style: &Style) -> String {
        print(&Value::Map(results.clone()), style)
    }
}

fn print(value: &Value, style: &Style) -> String {
    let mut text = match usize::try_from(style.indent.unwrap_or(4)) {
        Ok(indent) => written(value, PrettyFormatter::with_indent(" ".repeat(indent.min(80)).as_bytes())),
        Err(_) => one_line(value),
    };
    text.push('\n');
    text
}

/// One line with a blank after each comma and colon, as Python writes it.
pub fn one_line(value: &Value) -> String {
    written(value, OneLine)
}

fn written(value: &Value, formatter: impl Formatter) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, formatter);
    match json::to_json(value).serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        // Writing plain JSON to memory can't fail; the compact form is equivalent.
        Err(_) => json::compact(value),
    }
}

struct OneLine;

impl Formatter for OneLine {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
