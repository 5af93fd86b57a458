//! YAML as PyYAML writes it with libyaml: block style, sorted keys, long texts folded at 80 letters.

use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_core::{Map, Value, yaml};

use super::{Serializer, pairs};

pub struct Yaml;

impl Serializer for Yaml {
    fn write(&self, data: &Value, options: &Map) -> Result<String, String> {
        let number = |key: &str, usual: usize| {
            options.get(key).and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok()).unwrap_or(usual)
        };
        let mut writer = Writer {
            out: String::new(),
            column: 0,
            width: number("width", 80),
            step: match number("indent", 2) {
                step @ 2..=9 => step,
                _ => 2,
            },
            sorted: options.get("sort_keys").is_none_or(Value::truth),
            unicode: options.get("allow_unicode").is_some_and(Value::truth),
        };
        if options.get("explicit_start").is_some_and(Value::truth) {
            writer.put("---");
            if is_block(data) { writer.line() } else { writer.put(" ") }
        }
        writer.node(data, 0);
        let text = writer.out;
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }

    fn read(&self, text: &str) -> Option<Result<Value, String>> {
        Some(yaml::parse(text).map_err(|error| error.to_string()))
    }
}

struct Writer {
    out: String,
    column: usize,
    width: usize,
    step: usize,
    sorted: bool,
    unicode: bool,
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Map(map) => !map.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => false,
    }
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// A new line, indented.
    fn indent(&mut self, indent: usize) {
        self.line();
        self.put(&" ".repeat(indent));
    }

    /// The writer stands where the first line of the node begins.
    fn node(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Map(map) if !map.is_empty() => {
                for (index, (key, value)) in pairs(map, self.sorted).into_iter().enumerate() {
                    if index > 0 {
                        self.put(&" ".repeat(indent));
                    }
                    self.key(key, indent);
                    self.put(":");
                    self.child(value, indent);
                }
            }
            Value::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.put(&" ".repeat(indent));
                    }
                    self.put("-");
                    self.put(&" ".repeat(self.step - 1));
                    self.node(item, indent + self.step);
                }
            }
            other => {
                self.scalar(other, indent + if self.out.is_empty() { self.step } else { 0 }, true);
                self.line();
            }
        }
    }

    fn child(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Map(map) if !map.is_empty() => {
                self.indent(indent + self.step);
                self.node(value, indent + self.step);
            }
            // A list in a map is not indented further.
            Value::List(items) if !items.is_empty() => {
                self.indent(indent);
                self.node(value, indent);
            }
            other => {
                self.put(" ");
                self.scalar(other, indent + self.step, true);
                self.line();
            }
        }
    }

    fn key(&mut self, key: &Value, indent: usize) {
        let text = key.to_string();
        if text.chars().count() >= 128 || text.contains('\n') {
            self.put("? ");
            self.scalar(key, indent + self.step, true);
            self.indent(indent);
            return;
        }
        self.scalar(key, indent + self.step, false);
    }

    fn scalar(&mut self, value: &Value, indent: usize, split: bool) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Value::Float(number) if number.is_nan() => self.put(".nan"),
            Value::Float(number) if number.is_infinite() => self.put(if *number > 0.0 { ".inf" } else { "-.inf" }),
            Value::Float(_) => {
                let text = value.to_string();
                let text = if text.contains('.') { text } else { text.replacen('e', ".0e", 1) };
                self.put(&text);
            }
            Value::List(_) => self.put("[]"),
            Value::Map(_) => self.put("{}"),
            Value::String(text) => match style(text, self.unicode, !split) {
                Style::Plain => self.plain(text, indent, split),
                Style::Single => self.single(text, indent, split),
                Style::Double => self.double(text, indent, split),
            },
            other => self.put(&other.to_string()),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, split: bool) {
        for (spaces, word) in words(text) {
            if spaces == 1 && self.column > self.width && split {
                self.indent(indent);
            } else {
                self.put(&" ".repeat(spaces));
            }
            self.put(word);
        }
    }

    fn single(&mut self, text: &str, indent: usize, split: bool) {
        self.put("'");
        let mut rest = text;
        while !rest.is_empty() {
            let breaks = rest.len() - rest.trim_start_matches('\n').len();
            if breaks > 0 {
                // The first one is doubled: a single one would only fold.
                (0..=breaks).for_each(|_| self.line());
                self.put(&" ".repeat(indent));
                rest = &rest[breaks..];
                continue;
            }
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            if spaces > 0 {
                let at_edge = rest.len() == text.len() || rest.len() == spaces;
                if spaces == 1 && self.column > self.width && split && !at_edge {
                    self.indent(indent);
                } else {
                    self.put(&" ".repeat(spaces));
                }
                rest = &rest[spaces..];
                continue;
            }
            let end = rest.find([' ', '\n']).unwrap_or(rest.len());
            self.put(&rest[..end].replace('\'', "''"));
            rest = &rest[end..];
        }
        self.put("'");
    }

    fn double(&mut self, text: &str, indent: usize, split: bool) {
        self.put("\"");
        let letters: Vec<char> = text.chars().collect();
        let mut after_space = false;
        for (index, letter) in letters.iter().copied().enumerate() {
            let inside = index > 0 && index + 1 < letters.len();
            if !self.stands(letter) {
                self.put(&escaped(letter));
                after_space = false;
            } else if letter == ' ' && split && !after_space && inside && self.column > self.width {
                self.indent(indent);
                if letters.get(index + 1) == Some(&' ') {
                    self.put("\\");
                }
                after_space = true;
            } else {
                self.put(letter.encode_utf8(&mut [0; 4]));
                after_space = letter == ' ';
            }
        }
        self.put("\"");
    }

    /// Whether a letter needs no escape between double quotes.
    fn stands(&self, letter: char) -> bool {
        let plain = (' '..='~').contains(&letter) && !"\"\\".contains(letter);
        let wide = ('\u{A0}'..='\u{D7FF}').contains(&letter) || ('\u{E000}'..='\u{FFFD}').contains(&letter);
        plain || (self.unicode && wide && !"\u{85}\u{2028}\u{2029}\u{FEFF}".contains(letter))
    }
}

/// Words with the number of spaces before each.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let bare = rest.trim_start_matches(' ');
        let end = bare.find(' ').unwrap_or(bare.len());
        words.push((rest.len() - bare.len(), &bare[..end]));
        rest = &bare[end..];
    }
    words
}

fn escaped(letter: char) -> String {
    let short = match letter {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0B' => 'v',
        '\x0C' => 'f',
        '\r' => 'r',
        '\x1B' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{A0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(letter) {
                code @ 0..=0xFF => format!("\\x{code:02X}"),
                code @ 0x100..=0xFFFF => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

#[derive(PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
}

/// PyYAML's choice for a text in block style.
fn style(text: &str, unicode: bool, is_key: bool) -> Style {
    let is_break = |letter: char| "\n\u{85}\u{2028}\u{2029}".contains(letter);
    let is_space =
        |letter: Option<char>| letter.is_none_or(|letter| "\0 \t\r\n\u{85}\u{2028}\u{2029}".contains(letter));
    let letters: Vec<char> = text.chars().collect();
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut special, mut space_break, mut break_space) = (false, false, false);
    for (index, letter) in letters.iter().copied().enumerate() {
        let next = letters.get(index + 1).copied();
        let previous = index.checked_sub(1).and_then(|index| letters.get(index)).copied();
        indicators |= match index {
            0 => "#,[]{}&*!|>'\"%@`".contains(letter) || ("?:-".contains(letter) && is_space(next)),
            _ => (letter == ':' && is_space(next)) || (letter == '#' && is_space(previous)),
        };
        let ordinary = letter == '\n' || (' '..='~').contains(&letter);
        let wide = letter == '\u{85}' || (letter >= '\u{A0}' && letter != '\u{FEFF}' && letter < '\u{10FFFF}');
        special |= !(ordinary || wide && unicode);
        space_break |= is_break(letter) && previous == Some(' ');
        break_space |= letter == ' ' && previous.is_some_and(is_break);
    }
    let edge = |letter: Option<&char>| letter.is_some_and(|letter| *letter == ' ' || is_break(*letter));
    let edges = edge(letters.first()) || edge(letters.last());
    let multiline = letters.iter().copied().any(is_break);
    if !edges && !break_space && !space_break && !special && !multiline && !indicators && is_text(text) {
        return Style::Plain;
    }
    let single = !(break_space || space_break || special || is_key && multiline);
    if single { Style::Single } else { Style::Double }
}

/// Whether a plain text would be read as one.
fn is_text(text: &str) -> bool {
    if text.is_empty() || matches!(text, "=" | "<<") {
        return false;
    }
    let number = matches!(yaml::parse(text), Ok(Value::String(_)) | Err(_));
    let digits = text.bytes().take(4).filter(u8::is_ascii_digit).count() == 4 && text.as_bytes().get(4) == Some(&b'-');
    number && !(digits && is_time(text))
}

fn is_time(text: &str) -> bool {
    const TIME: &str = "(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \\t]+)[0-9]{1,2}\
                        :[0-9]{2}:[0-9]{2}(?:\\.[0-9]*)?(?:[ \\t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$";
    Pattern::at_start(TIME, Flags::NONE).and_then(|pattern| pattern.matches(text)).unwrap_or(false)
}
