//! YAML letter by letter as PyYAML with libyaml writes it, for what ends up in users' files.
//!
//! [`emit`](super::emit) is for people to read; this is for templates, whose output is compared.

pub mod scalar;

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::sort::sort_by;
use crate::value::{Map, Value};
use scalar::Analysis;

/// PyYAML's options.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// `[a, b]` on one line: always, never, or where nothing but scalars is inside (`None`).
    pub flow: Option<bool>,
    pub sort_keys: bool,
    /// Lines are folded at the first space behind it.
    pub width: usize,
    pub indent: usize,
    /// Letters outside of ASCII as they are.
    pub unicode: bool,
    /// Begin with `---`.
    pub explicit_start: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { flow: None, sort_keys: true, width: 80, indent: 2, unicode: false, explicit_start: false }
    }
}

/// Ends with a newline; the `...` that PyYAML puts behind a lone scalar is left out.
pub fn dump(value: &Value, style: Style) -> String {
    let mut writer =
        Writer { style, out: String::new(), column: 0, indent: None, flow: 0, whitespace: true, indention: true };
    if style.explicit_start {
        writer.indicator("---", true, false, false);
    }
    writer.node(value, Context::Root);
    if writer.column > 0 {
        writer.out.push('\n');
    }
    writer.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Sequence,
    Mapping,
    SimpleKey,
}

struct Writer {
    style: Style,
    out: String,
    column: usize,
    /// None until the first collection begins.
    indent: Option<usize>,
    /// How many flow collections are open.
    flow: usize,
    /// The last letter was white space.
    whitespace: bool,
    /// There is nothing but indentation and indicators on the line.
    indention: bool,
}

impl Writer {
    fn node(&mut self, value: &Value, context: Context) {
        match value {
            Value::List(items) => match self.flow > 0 || items.is_empty() || self.is_flow(value) {
                true => self.flow_sequence(items),
                false => self.block_sequence(items, context),
            },
            Value::Map(map) => match self.flow > 0 || map.is_empty() || self.is_flow(value) {
                true => self.flow_mapping(map),
                false => self.block_mapping(map),
            },
            scalar => {
                let before = self.deeper(true, false);
                let (text, plain) = scalar::represent(scalar);
                self.scalar(&text, plain, context == Context::SimpleKey);
                self.indent = before;
            }
        }
    }

    fn is_flow(&self, value: &Value) -> bool {
        let scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_) | Value::Bytes(_));
        self.style.flow.unwrap_or_else(|| match value {
            Value::List(items) => items.iter().all(scalar),
            Value::Map(map) => map.iter().all(|(key, value)| scalar(key) && scalar(value)),
            _ => true,
        })
    }

    /// Indents what follows; the answer is what to go back to.
    fn deeper(&mut self, flow: bool, indentless: bool) -> Option<usize> {
        let before = self.indent;
        self.indent = Some(match before {
            None if flow => self.style.indent,
            None => 0,
            Some(indent) if indentless => indent,
            Some(indent) => indent + self.style.indent,
        });
        before
    }

    fn flow_sequence(&mut self, items: &[Value]) {
        let before = self.open("[");
        for (index, item) in items.iter().enumerate() {
            self.between(index);
            self.node(item, Context::Sequence);
        }
        self.close("]", before);
    }

    fn flow_mapping(&mut self, map: &Map) {
        let before = self.open("{");
        for (index, (key, value)) in self.entries(map).into_iter().enumerate() {
            self.between(index);
            if is_simple(key, self.style.unicode) {
                self.node(key, Context::SimpleKey);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, false);
                self.node(key, Context::Mapping);
                if self.column > self.style.width {
                    self.write_indent();
                }
                self.indicator(":", true, false, false);
            }
            self.node(value, Context::Mapping);
        }
        self.close("}", before);
    }

    fn open(&mut self, bracket: &str) -> Option<usize> {
        self.indicator(bracket, true, true, false);
        let before = self.deeper(true, false);
        self.flow += 1;
        before
    }

    fn between(&mut self, index: usize) {
        if index > 0 {
            self.indicator(",", false, false, false);
        }
        if self.column > self.style.width {
            self.write_indent();
        }
    }

    fn close(&mut self, bracket: &str, before: Option<usize>) {
        self.flow -= 1;
        self.indent = before;
        self.indicator(bracket, false, false, false);
    }

    fn block_sequence(&mut self, items: &[Value], context: Context) {
        // A list in a map is not indented further.
        let before = self.deeper(false, context == Context::Mapping && !self.indention);
        for item in items {
            self.write_indent();
            self.indicator("-", true, false, true);
            self.node(item, Context::Sequence);
        }
        self.indent = before;
    }

    fn block_mapping(&mut self, map: &Map) {
        let before = self.deeper(false, false);
        for (key, value) in self.entries(map) {
            self.write_indent();
            if is_simple(key, self.style.unicode) {
                self.node(key, Context::SimpleKey);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.node(key, Context::Mapping);
                self.write_indent();
                self.indicator(":", true, false, true);
            }
            self.node(value, Context::Mapping);
        }
        self.indent = before;
    }

    /// Sorted if Python could sort them.
    fn entries<'a>(&self, map: &'a Map) -> Vec<(&'a Value, &'a Value)> {
        let mut entries: Vec<(&Value, &Value)> = map.iter().collect();
        let mut sortable = true;
        if self.style.sort_keys {
            let mut sorted = entries.clone();
            sort_by(&mut sorted, |(a, _), (b, _)| {
                compare(a, b).unwrap_or_else(|| {
                    sortable = false;
                    Ordering::Equal
                })
            });
            if sortable {
                entries = sorted;
            }
        }
        entries
    }

    fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.newline();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, letter: char) {
        self.out.push(letter);
        self.column += 1;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_whitespace: bool, is_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|letter| self.put(letter));
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    fn scalar(&mut self, text: &str, plain: bool, simple_key: bool) {
        let analysis = Analysis::of(text, self.style.unicode);
        let plain_fits = if self.flow > 0 { analysis.flow_plain } else { analysis.block_plain };
        if simple_key && analysis.multiline {
            self.double_quoted(text, false);
        } else if plain && plain_fits {
            self.plain(text, !simple_key);
        } else if analysis.single_quoted {
            self.single_quoted(text, !simple_key);
        } else {
            self.double_quoted(text, !simple_key);
        }
    }

    /// Whether a line may be broken at this space, which then becomes the break.
    fn breaks_at(&self, letters: &[char], index: usize, may_break: bool) -> bool {
        may_break && self.column > self.style.width && index > 0 && letters[index - 1] != ' '
    }

    fn plain(&mut self, text: &str, may_break: bool) {
        if !self.whitespace && !text.is_empty() {
            self.put(' ');
        }
        let letters: Vec<char> = text.chars().collect();
        for (index, letter) in letters.iter().enumerate() {
            let next_is_space = letters.get(index + 1) == Some(&' ');
            if *letter == ' ' && self.breaks_at(&letters, index, may_break) && !next_is_space {
                self.write_indent();
            } else {
                self.put(*letter);
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("'", true, false, false);
        let letters: Vec<char> = text.chars().collect();
        let mut broke = false;
        for (index, letter) in letters.iter().enumerate() {
            match letter {
                ' ' if !broke => {
                    let last = index + 1 == letters.len();
                    let next_is_space = letters.get(index + 1) == Some(&' ');
                    match self.breaks_at(&letters, index, may_break) && !last && !next_is_space {
                        true => self.write_indent(),
                        false => self.put(' '),
                    }
                }
                '\n' => {
                    if !broke {
                        self.newline();
                    }
                    self.newline();
                    self.indention = true;
                    broke = true;
                }
                letter if scalar::is_break(*letter) => {
                    self.out.push(*letter);
                    self.column = 0;
                    self.indention = true;
                    broke = true;
                }
                letter => {
                    if broke {
                        self.write_indent();
                    }
                    if *letter == '\'' {
                        self.put('\'');
                    }
                    self.put(*letter);
                    self.indention = false;
                    broke = false;
                }
            }
        }
        if broke {
            self.write_indent();
        }
        self.indicator("'", false, false, false);
    }

    fn double_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("\"", true, false, false);
        let letters: Vec<char> = text.chars().collect();
        for (index, letter) in letters.iter().enumerate() {
            if scalar::must_escape(*letter, self.style.unicode) {
                scalar::escaped(*letter).chars().for_each(|letter| self.put(letter));
            } else if *letter == ' ' && self.breaks_at(&letters, index, may_break) && index + 1 < letters.len() {
                self.write_indent();
                if letters[index + 1] == ' ' {
                    self.put('\\');
                }
            } else {
                self.put(*letter);
            }
        }
        self.indicator("\"", false, false, false);
    }
}

/// Keys that can stand before a colon without a question mark.
fn is_simple(key: &Value, unicode: bool) -> bool {
    match key {
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        scalar => {
            let (text, _): (Cow<'_, str>, bool) = scalar::represent(scalar);
            text.len() <= 128 && !Analysis::of(&text, unicode).multiline
        }
    }
}

/// As Python compares; None if it can't.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let number = |value: &Value| match value {
        Value::Bool(flag) => Some(f64::from(*flag)),
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (a, b) => number(a)?.partial_cmp(&number(b)?),
    }
}
