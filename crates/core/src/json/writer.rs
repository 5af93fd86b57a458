//! [`JsonWriter`]: lays out JSON as Python's `json.dumps` does.
//!
//! The caller walks its own data and says where arrays and objects begin and end, so that values of any type have one
//! writer.

/// Python's options.
#[derive(Clone, Debug)]
pub struct JsonLayout {
    /// What each level is indented with; all on one line without it.
    indent: Option<String>,
    /// Escapes everything outside of printable ASCII.
    ascii: bool,
    comma: String,
    colon: String,
}

impl JsonLayout {
    pub fn new(indent: Option<String>, ascii: bool) -> JsonLayout {
        let comma = if indent.is_some() { "," } else { ", " };
        JsonLayout { indent, ascii, comma: comma.into(), colon: ": ".into() }
    }

    /// `separators`; `None` leaves the usual one.
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

    /// How much is written.
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

    /// An item of the open array or object follows.
    pub fn item(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(&self.layout.comma);
        }
        self.new_line();
    }

    /// A key of the open object, and its colon.
    pub fn key(&mut self, text: &str) {
        self.string(text);
        self.out.push_str(&self.layout.colon);
    }

    /// Closes what [`JsonWriter::begin`] opened; `items` is how many there were.
    pub fn end(&mut self, bracket: char, items: usize) {
        self.depth -= 1;
        if items > 0 {
            self.new_line();
        }
        self.out.push(bracket);
    }

    /// `null`, `true` or a number.
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

/// A float as Python's `json` writes it; `text` is its `repr()`.
pub fn float_literal(number: f64, text: impl FnOnce() -> String) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.into()
    } else {
        text()
    }
}
