//! Prints values as Python's `str()` and `repr()` do.

use std::fmt::Write;

use super::{Dict, MAX_NESTING, Value};
use crate::error::{Error, Result};

impl Value {
    /// The value as Python's `str(x)`; fails for a strict undefined.
    pub fn to_text(&self) -> Result<String> {
        let mut out = String::new();
        self.write_text(&mut out)?;
        Ok(out)
    }

    /// Appends Python's `str(x)`.
    pub fn write_text(&self, out: &mut String) -> Result<()> {
        match self {
            Value::String(text) => out.push_str(text),
            Value::Undefined(_) => return self.must_be_usable(),
            Value::Object(object) => out.push_str(&object.text()),
            other => return write(other, out, &mut Vec::new()),
        }
        Ok(())
    }

    /// The value as Python's `repr(x)`.
    pub fn repr(&self) -> Result<String> {
        let mut out = String::new();
        write(self, &mut out, &mut Vec::new())?;
        Ok(out)
    }
}

/// The longest text in bytes to which a value may be appended.
const MAX_TEXT: usize = 64 << 20;

/// Writes a value. `open` are the containers being printed: one that contains itself prints as `[...]`.
fn write(value: &Value, out: &mut String, open: &mut Vec<*const ()>) -> Result<()> {
    if open.len() > MAX_NESTING || out.len() > MAX_TEXT {
        return Err(Error::too_deep("printing"));
    }
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(flag) => out.push_str(if *flag { "True" } else { "False" }),
        Value::Int(number) => display(out, number),
        Value::BigInt(number) => display(out, number),
        Value::Float(number) => out.push_str(&float_text(*number)),
        Value::String(text) if text.is_safe() => {
            display(out, format_args!("Markup({})", quoted(text)));
        }
        Value::String(text) => write_quoted(text, out),
        Value::Bytes(bytes) => out.push_str(&bytes_text(bytes)),
        Value::List(items) => {
            let id = std::rc::Rc::as_ptr(items).cast();
            if open.contains(&id) {
                out.push_str("[...]");
                return Ok(());
            }
            open.push(id);
            out.push('[');
            write_items(items.borrow().iter(), out, open)?;
            out.push(']');
            open.pop();
        }
        Value::Tuple(items) => {
            open.push(std::ptr::null());
            out.push('(');
            write_items(items.borrow().iter(), out, open)?;
            out.push_str(if items.borrow().len() == 1 { ",)" } else { ")" });
            open.pop();
        }
        Value::Set(items) => {
            if items.borrow().is_empty() {
                out.push_str("set()");
                return Ok(());
            }
            open.push(std::ptr::null());
            out.push('{');
            write_items(items.borrow().iter(), out, open)?;
            out.push('}');
            open.pop();
        }
        Value::Dict(dict) => {
            let id = std::rc::Rc::as_ptr(dict).cast();
            if open.contains(&id) {
                out.push_str("{...}");
                return Ok(());
            }
            open.push(id);
            write_pairs(&dict.borrow(), out, open)?;
            open.pop();
        }
        Value::Object(object) => out.push_str(&object.repr()),
    }
    Ok(())
}

fn write_pairs(dict: &Dict, out: &mut String, open: &mut Vec<*const ()>) -> Result<()> {
    out.push('{');
    for (index, (key, value)) in dict.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(key, out, open)?;
        out.push_str(": ");
        write(value, out, open)?;
    }
    out.push('}');
    Ok(())
}

fn write_items<'a>(items: impl Iterator<Item = &'a Value>, out: &mut String, open: &mut Vec<*const ()>) -> Result<()> {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(item, out, open)?;
    }
    Ok(())
}

fn display(out: &mut String, value: impl std::fmt::Display) {
    // Writing into a string never fails.
    let _ = write!(out, "{value}");
}

/// Formats a float as Python's shortest form: `1.0`, `1e+16`, `inf`.
pub(crate) fn float_text(number: f64) -> String {
    rocksalt_core::Value::Float(number).to_string()
}

/// Quotes a string as Python's `repr()` does.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    out
}

fn write_quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if printable(c) => out.push(c),
            c => match c as u32 {
                code @ 0..=0xff => display(out, format_args!("\\x{code:02x}")),
                code @ 0x100..=0xffff => display(out, format_args!("\\u{code:04x}")),
                code => display(out, format_args!("\\U{code:08x}")),
            },
        }
    }
    out.push(quote);
}

/// Like Python's `str.isprintable`, but without its tables of unassigned characters.
pub(crate) fn printable(c: char) -> bool {
    match c as u32 {
        0x20..=0x7e => true,
        0..=0xa0 | 0xad => false,
        0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x8e2 | 0x1680 | 0x180e => false,
        0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000 => false,
        0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xfffe | 0xffff => false,
        0xe0000..=0xe007f | 0xf0000.. => false,
        _ => true,
    }
}

fn bytes_text(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            byte if char::from(*byte) == quote => {
                out.push('\\');
                out.push(quote);
            }
            0x20..=0x7e => out.push(char::from(*byte)),
            byte => display(&mut out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
    out
}
