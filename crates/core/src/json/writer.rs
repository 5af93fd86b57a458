//! [`JsonWriter`]: writes JSON in the layout of Python's `json.dumps`.
//!
//! The caller walks its own data and reports where arrays and objects begin and end, so that one writer serves values
//! of any type.

/// The options of Python's `json.dumps`.
#[derive(Clone, Debug)]
pub struct JsonLayout {
    /// The indentation of each level; `None` writes everything on one line.
    indent: Option<String>,
    /// Whether to escape everything outside of printable ASCII.
    ascii: bool,
    comma: String,
    colon: String,
}

impl JsonLayout {
    pub fn new(indent: Option<String>, ascii: bool) -> JsonLayout {
        let comma = if indent.is_some() { "," } else { ", " };
        JsonLayout { indent, ascii, comma: comma.into(), colon: ": ".into() }
    }

    /// Sets Python's `separators`; `None` keeps the default.
    #[must_use]
    pub fn separators(mut self, comma: Option<String>, colon: Option<String>) -> JsonLayout {
        self.comma = comma.unwrap_or(self.comma);
        self.colon = colon.unwrap_or(self.colon);
        self
    }
}

pub struct JsonWriter {
    layout: JsonLayout,
    out: String,
    depth: usize,
}

impl JsonWriter {
    pub fn new(layout: JsonLayout) -> JsonWriter {
        JsonWriter { layout, out: String::new(), depth: 0 }
    }

    pub fn finish(self) -> String {
        self.out
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    pub fn begin(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
    }

    /// Starts an item of the open array or object.
    pub fn item(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(&self.layout.comma);
        }
        self.new_line();
    }

    /// Writes a key of the open object, and the colon.
    pub fn key(&mut self, text: &str) {
        self.string(text);
        self.out.push_str(&self.layout.colon);
    }

    /// Closes what [`JsonWriter::begin`] opened; `items` is the number of its items.
    pub fn end(&mut self, bracket: char, items: usize) {
        self.depth -= 1;
        if items > 0 {
            self.new_line();
        }
        self.out.push(bracket);
    }

    /// Writes `null`, `true` or a number.
    pub fn literal(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub fn string(&mut self, text: &str) {
        self.out.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                letter if letter < ' ' || (self.layout.ascii && !(' '..='~').contains(&letter)) => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                letter => self.out.push(letter),
            }
        }
        self.out.push('"');
    }

    fn new_line(&mut self) {
        if let Some(indent) = &self.layout.indent {
            self.out.push('\n');
            (0..self.depth).for_each(|_| self.out.push_str(indent));
        }
    }
}

/// Formats a float as Python's `json` does; `text` is its `repr()`.
pub fn float_literal(number: f64, text: impl FnOnce() -> String) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.into()
    } else {
        text()
    }
}
