//! Writes YAML in block style, as Salt's `--out yaml` does.

use super::scalar;
use crate::value::Value;

/// Writes a value, with a final newline. Parsing the text yields the same value.
pub fn emit(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Map(map) if !map.is_empty() => block(value, 0, &mut out),
        Value::List(items) if !items.is_empty() => block(value, 0, &mut out),
        other => {
            inline(other, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter() {
                out.push_str(&" ".repeat(indent));
                let start = out.len();
                self::key(key, out);
                // As in PyYAML. A parser need not accept a key of more than 1024 characters without a question mark.
                if out.len() - start >= 128 {
                    out.insert_str(start, "? ");
                    out.push('\n');
                    out.push_str(&" ".repeat(indent));
                }
                out.push(':');
                child(value, indent, out);
            }
        }
        Value::List(items) => {
            for item in items {
                out.push_str(&" ".repeat(indent));
                out.push('-');
                match item {
                    Value::Map(map) if !map.is_empty() => compact(item, indent, out),
                    Value::List(items) if !items.is_empty() => compact(item, indent, out),
                    other => {
                        out.push(' ');
                        inline(other, indent + 2, out);
                        out.push('\n');
                    }
                }
            }
        }
        other => inline(other, indent, out),
    }
}

/// Writes an inner block such as `- a: 1`, starting on the line of the dash.
fn compact(item: &Value, indent: usize, out: &mut String) {
    let mut inner = String::new();
    block(item, indent + 2, &mut inner);
    out.push(' ');
    out.push_str(inner.trim_start_matches(' '));
}

fn child(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Map(map) if !map.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::List(items) if !items.is_empty() => {
            out.push('\n');
            // As in PyYAML's block style, a list in a map isn't indented further.
            block(value, indent, out);
        }
        other => {
            out.push(' ');
            inline(other, indent + 2, out);
            out.push('\n');
        }
    }
}

/// Writes a key on one line.
fn key(key: &Value, out: &mut String) {
    match key {
        Value::String(text) if text.contains('\n') => double_quoted(text, out),
        other => inline(other, 0, out),
    }
}

fn inline(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Float(number) if number.is_nan() => out.push_str(".nan"),
        Value::Float(number) if number.is_infinite() => out.push_str(if *number > 0.0 { ".inf" } else { "-.inf" }),
        Value::Float(_) => out.push_str(&with_dot(&value.to_string())),
        Value::String(text) => string(text, indent, out),
        Value::List(_) => out.push_str("[]"),
        Value::Map(_) => out.push_str("{}"),
        other => out.push_str(&other.to_string()),
    }
}

/// Adds a dot to the mantissa, since `1e+16` would be read as a string.
fn with_dot(text: &str) -> String {
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text.to_owned(),
    }
}

fn string(text: &str, indent: usize, out: &mut String) {
    if text.contains('\n') && is_block_safe(text) {
        let chomp = match (text.ends_with('\n'), text.ends_with("\n\n")) {
            (false, _) => "-",
            (true, true) => "+",
            (true, false) => "",
        };
        out.push('|');
        out.push_str(chomp);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&" ".repeat(indent.max(2)));
                out.push_str(line);
            }
        }
    } else if is_plain(text) {
        out.push_str(text);
    } else if text.chars().any(|c| c.is_control() || c == '\u{feff}') {
        double_quoted(text, out);
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
}

fn is_block_safe(text: &str) -> bool {
    !text.starts_with([' ', '\n']) && !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{feff}')
}

fn is_plain(text: &str) -> bool {
    let starts_badly = text.starts_with(|c: char| {
        matches!(
            c,
            '-' | '?'
                | ':'
                | ','
                | '['
                | ']'
                | '{'
                | '}'
                | '#'
                | '&'
                | '*'
                | '!'
                | '|'
                | '>'
                | '\''
                | '"'
                | '%'
                | '@'
                | '`'
                | '='
                | ' '
                | '<'
        )
    });
    matches!(scalar::resolve(text), Value::String(_))
        && !starts_badly
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(|c| c.is_control() || c == '\u{feff}')
        && !text.starts_with("---")
        && !text.starts_with("...")
}

fn double_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x100 && c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{feff}' => out.push_str("\\ufeff"),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let text = "a: 1\nb:\n- x: 1\n  y: '2'\n- - z\nc: |\n  one\n  two\nd: ''\ne: {}\nf: 'on'\n";
        let value = parse(text).expect("it is YAML");
        assert_eq!(emit(&value), text);
        assert_eq!(parse(&emit(&value)), Ok(value));
    }

    #[test]
    fn odd_keys_read_back() {
        for key in ["a\nb", "\n", "", "? a", "a: b", "yes", "- ", "|", "\"\n'"] {
            let value = Value::Map([(key.into(), "x".into())].into_iter().collect());
            assert_eq!(parse(&emit(&value)), Ok(value.clone()), "{}", emit(&value));
        }
        for value in
            ["x".into(), Value::List(vec![1i64.into()]), Value::Map([("a".into(), 1i64.into())].into_iter().collect())]
        {
            let inner = Value::Map([("k".repeat(2000).as_str().into(), value)].into_iter().collect());
            let outer = Value::List(vec![Value::Map([("o".into(), inner)].into_iter().collect())]);
            assert_eq!(parse(&emit(&outer)), Ok(outer.clone()), "{}", emit(&outer));
        }
    }

    #[test]
    fn odd_strings_read_back() {
        for text in [
            "yes", "12", "a: b", "a #b", " a", "a\tb", "- a", "\n", "a\n\n", "  a\nb", "'", "\"", "{}", "=", "1e+16",
            "x\u{7f}",
        ] {
            let value = Value::List(vec![text.into()]);
            assert_eq!(parse(&emit(&value)), Ok(value), "{text:?} as {:?}", emit(&Value::from(text)));
        }
    }
}
