//! Keeps control characters in results from reaching a terminal.
//!
//! A hostile machine could otherwise move the cursor, rename the window or hide its own output.
//! In a pipe or a file the data stays unchanged.

use std::borrow::Cow;

use rocksalt_core::{Map, Value};

use super::{Escapes, Outputter, Style};

/// Wraps every outputter, so that none can omit the escaping.
pub struct Guard {
    pub inner: Box<dyn Outputter>,
    pub escapes: Escapes,
}

impl Guard {
    fn around(
        &self,
        id: &str,
        value: &Value,
        style: &Style,
        print: impl Fn(&dyn Outputter, &str, &Value) -> String,
    ) -> String {
        match (style.is_terminal(), self.escapes) {
            (false, _) => print(&*self.inner, id, value),
            (true, Escapes::Nothing) => print(&*self.inner, &clean(id), &clean_value(value)),
            (true, Escapes::Itself) => escape_rest(print(&*self.inner, id, value)),
        }
    }
}

impl Outputter for Guard {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        self.around(id, value, style, |inner, id, value| inner.one(id, value, style))
    }

    fn failed(&self, id: &str, value: &Value, style: &Style) -> String {
        self.around(id, value, style, |inner, id, value| inner.failed(id, value, style))
    }

    fn bare(&self, value: &Value, style: &Style) -> String {
        self.around("", value, style, |inner, _, value| inner.bare(value, style))
    }

    fn all(&self, results: &Map, style: &Style) -> String {
        match (style.is_terminal(), self.escapes) {
            (false, _) => self.inner.all(results, style),
            (true, Escapes::Nothing) => self.inner.all(&clean_map(results), style),
            (true, Escapes::Itself) => escape_rest(self.inner.all(results, style)),
        }
    }
}

/// Replaces control characters by a visible form: `\x1b` for an escape, and so on.
///
/// Newlines and tabs stay; as in Salt, a carriage return ends a line.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            c if !is_harmful(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{:04x}", c as u32)),
        }
    }
    Cow::Owned(out)
}

fn clean_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(text).into_owned()),
        Value::Bytes(bytes) => Value::String(clean(&String::from_utf8_lossy(bytes)).into_owned()),
        Value::List(items) => Value::List(items.iter().map(clean_value).collect()),
        Value::Map(map) => Value::Map(clean_map(map)),
        other => other.clone(),
    }
}

fn clean_map(map: &Map) -> Map {
    map.iter().map(|(key, value)| (clean_value(key), clean_value(value))).collect()
}

/// Escapes the rest that a format leaves unescaped: `\u009b` means the same in JSON, YAML and Python.
fn escape_rest(text: String) -> String {
    if !text.chars().any(is_harmful) {
        return text;
    }
    let escape = |c: char| if is_harmful(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// Whether a character is a control character, or changes the direction of text.
fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let cases = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\x1b[2J", "\\x1b[2J"),
            ("a\x07\x08\x7f", "a\\x07\\x08\\x7f"),
            ("\u{9b}31m", "\\x9b31m"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("\u{202e}txt.exe", "\\u202etxt.exe"),
            ("Grüße 世界", "Grüße 世界"),
        ];
        for (text, shown) in cases {
            assert_eq!(clean(text), shown);
        }
    }
}
