//! Formats values, sorts keys and splits lines as Python does: Salt's layouts depend on it.

use std::borrow::Cow;
use std::cmp::Ordering;

use rocksalt_core::{Map, Value};

/// Python's `repr()`.
pub fn repr(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => quoted_bytes(bytes),
        Value::List(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{}: {}", repr(key), repr(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Python's `str()`: as [`repr`], but a text is printed unchanged.
pub fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        other => Cow::Owned(repr(other)),
    }
}

pub fn quoted(text: &str) -> String {
    let quote = quote_for(text.contains('\''), text.contains('"'));
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push(quote);
    out
}

fn quoted_bytes(bytes: &[u8]) -> String {
    let quote = quote_for(bytes.contains(&b'\''), bytes.contains(&b'"'));
    let mut out = format!("b{quote}");
    for byte in bytes {
        match char::from(*byte) {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c @ ' '..='~' => out.push(c),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
    out
}

fn quote_for(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

/// Python's `str.isprintable()`, except for characters that Unicode has not assigned yet.
fn is_printable(c: char) -> bool {
    let code = c as u32;
    let hidden = matches!(code,
        0xa0 | 0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x1680 | 0x180e | 0x2000..=0x200f | 0x2028..=0x202f
        | 0x205f..=0x206f | 0x3000 | 0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xe0000..=0xe007f
        | 0xf0000..=0x10_ffff);
    let no_character = code & 0xfffe == 0xfffe;
    !c.is_control() && !hidden && !no_character
}

/// Python's `str.splitlines()`.
pub fn lines(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let ends = matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if !ends {
            continue;
        }
        out.push(&text[start..at]);
        start = at + c.len_utf8();
        if c == '\r' && rest.next_if(|(_, next)| *next == '\n').is_some() {
            start += 1;
        }
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// A map's entries in the order of `sorted()`: texts by character, numbers by size; a mixture as texts.
pub fn sorted(map: &Map) -> Vec<(&Value, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    let all = |kind: fn(&Value) -> bool| map.keys().all(kind);
    if all(|key| size(key).is_some()) {
        entries.sort_by(|(a, _), (b, _)| size(a).partial_cmp(&size(b)).unwrap_or(Ordering::Equal));
    } else if all(|key| key.as_str().is_some()) {
        entries.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    } else {
        entries.sort_by_cached_key(|(key, _)| text(key).into_owned());
    }
    entries
}

/// The same value with every map in [`sorted`] order.
pub fn sorted_deeply(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(sorted_deeply).collect()),
        Value::Map(map) => {
            Value::Map(sorted(map).into_iter().map(|(key, value)| (key.clone(), sorted_deeply(value))).collect())
        }
        other => other.clone(),
    }
}

fn size(key: &Value) -> Option<f64> {
    match key {
        Value::Bool(flag) => Some(f64::from(*flag)),
        Value::Int(number) => Some(*number as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_pythons_do() {
        assert_eq!(lines("a\r\nb\rc\x0bd\u{2028}e\n"), ["a", "b", "c", "d", "e"]);
        assert_eq!(lines("\n\na"), ["", "", "a"]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(quoted("\x1b\u{9b}\u{202e}\u{e0001}é"), r"'\x1b\x9b\u202e\U000e0001é'");
        assert_eq!(repr(&Value::Bytes(b"a\xff'".to_vec())), r#"b"a\xff'""#);
    }

    #[test]
    fn keys_sort_by_their_kind() {
        let keys = |list: Vec<Value>| {
            let map: Map = list.into_iter().map(|key| (key, Value::Null)).collect();
            sorted(&map).iter().map(|(key, _)| repr(key)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(vec![10.into(), 9.into(), 1.5.into()]), "1.5 9 10");
        assert_eq!(keys(vec!["b".into(), "B".into(), "é".into()]), "'B' 'b' 'é'");
        assert_eq!(keys(vec!["b".into(), 1.into(), Value::Null]), "1 None 'b'");
    }
}
