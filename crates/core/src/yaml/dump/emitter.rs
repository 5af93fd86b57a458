//! [`Emitter`]: writes YAML byte for byte as libyaml does.
//!
//! The caller walks its own data and reports where collections begin and end, so that one writer serves values of any
//! type.

use std::borrow::Cow;

use super::scalar::{Analysis, escaped, is_break, must_escape};

/// The longest key that can be written before its colon; a longer one needs a question mark.
const KEY_LENGTH: usize = 128;

#[derive(Clone, Copy, Debug)]
pub struct EmitterOptions {
    /// Lines are folded at the first space after this column.
    pub width: usize,
    pub indent: usize,
    /// Whether letters outside of ASCII are written unescaped.
    pub unicode: bool,
}

/// A scalar to write.
pub struct ScalarText<'t> {
    pub text: Cow<'t, str>,
    pub tag: Option<&'static str>,
    /// Whether the text means the same without quotes.
    pub plain: bool,
}

impl ScalarText<'_> {
    /// Whether the scalar can be a key without a question mark.
    pub fn is_simple_key(&self, unicode: bool) -> bool {
        self.text.len() + self.tag.map_or(0, str::len) <= KEY_LENGTH && !Analysis::of(&self.text, unicode).multiline
    }
}

pub struct Emitter {
    options: EmitterOptions,
    out: String,
    column: usize,
    /// `None` until the first collection begins.
    indent: Option<usize>,
    /// The number of open flow collections.
    flow: usize,
    /// Whether the last character was white space, or the next one needs none before it.
    whitespace: bool,
    /// Whether the line has only indentation and indicators so far.
    indention: bool,
}

/// An open collection.
pub struct Collection {
    is_flow: bool,
    outer_indent: Option<usize>,
}

impl Emitter {
    pub fn new(options: EmitterOptions) -> Emitter {
        Emitter { options, out: String::new(), column: 0, indent: None, flow: 0, whitespace: true, indention: true }
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Returns the text; its last line may lack a newline.
    pub fn finish(self) -> String {
        self.out
    }

    /// Whether a flow collection is open, so that everything inside is in flow style.
    pub fn in_flow(&self) -> bool {
        self.flow > 0
    }

    pub fn begin_sequence(&mut self, is_flow: bool, in_mapping: bool) -> Collection {
        // A block list in a map isn't indented further.
        let indentless = in_mapping && !self.indention;
        self.begin("[", is_flow, !is_flow && indentless)
    }

    pub fn begin_mapping(&mut self, is_flow: bool) -> Collection {
        self.begin("{", is_flow, false)
    }

    fn begin(&mut self, bracket: &str, is_flow: bool, indentless: bool) -> Collection {
        if is_flow {
            self.indicator(bracket, true, true, false);
        }
        let outer_indent = self.deepen(is_flow, indentless);
        self.flow += usize::from(is_flow);
        Collection { is_flow, outer_indent }
    }

    pub fn item(&mut self, collection: &Collection, index: usize) {
        self.separate(collection, index);
        if !collection.is_flow {
            self.indicator("-", true, false, true);
        }
    }

    /// Starts a key; `simple` says whether it needs no question mark.
    pub fn key(&mut self, collection: &Collection, index: usize, simple: bool) {
        self.separate(collection, index);
        if !simple {
            self.indicator("?", true, false, !collection.is_flow);
        }
    }

    /// Starts the key's value.
    pub fn value(&mut self, collection: &Collection, simple: bool) {
        if simple {
            return self.indicator(":", false, false, false);
        }
        if !collection.is_flow || self.column > self.options.width {
            self.new_line();
        }
        self.indicator(":", true, false, !collection.is_flow);
    }

    fn separate(&mut self, collection: &Collection, index: usize) {
        if !collection.is_flow {
            return self.new_line();
        }
        if index > 0 {
            self.indicator(",", false, false, false);
        }
        if self.column > self.options.width {
            self.new_line();
        }
    }

    pub fn end_sequence(&mut self, collection: Collection) {
        self.end("]", collection);
    }

    pub fn end_mapping(&mut self, collection: Collection) {
        self.end("}", collection);
    }

    fn end(&mut self, bracket: &str, collection: Collection) {
        self.indent = collection.outer_indent;
        if collection.is_flow {
            self.flow -= 1;
            self.indicator(bracket, false, false, false);
        }
    }

    /// Writes an anchor, an alias, a tag or `---`.
    pub fn mark(&mut self, text: &str) {
        self.indicator(text, true, false, false);
    }

    pub fn scalar(&mut self, scalar: &ScalarText<'_>, is_key: bool) {
        let outer = self.deepen(true, false);
        if let Some(tag) = scalar.tag {
            self.mark(tag);
        }
        let text = &*scalar.text;
        let analysis = Analysis::of(text, self.options.unicode);
        let plain_fits = if self.in_flow() { analysis.flow_plain } else { analysis.block_plain };
        let is_empty = text.is_empty() && (self.in_flow() || is_key);
        if scalar.tag.is_some() && !self.in_flow() && !is_key {
            self.literal(text);
        } else if is_key && analysis.multiline {
            self.double_quoted(text, false);
        } else if scalar.plain && plain_fits && !is_empty {
            self.plain(text, !is_key);
        } else if analysis.single_quoted {
            self.single_quoted(text, !is_key);
        } else {
            self.double_quoted(text, !is_key);
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, may_break: bool) {
        if !self.whitespace && (!text.is_empty() || self.in_flow()) {
            self.put(' ');
        }
        self.folded(text, may_break, |_| false, |emitter, letter| emitter.put(letter));
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("'", true, false, false);
        let last = text.len().saturating_sub(1);
        let ends_with_break = self.folded(
            text,
            may_break,
            |index| index == 0 || index == last,
            |emitter, letter| {
                if letter == '\'' {
                    emitter.put('\'');
                }
                emitter.put(letter);
            },
        );
        if ends_with_break {
            self.new_line();
        }
        self.indicator("'", false, false, false);
    }

    /// Writes text that may be folded at single spaces, with its line breaks doubled. Returns whether it ends with a
    /// break.
    fn folded(
        &mut self,
        text: &str,
        may_break: bool,
        keeps_space: impl Fn(usize) -> bool,
        put: impl Fn(&mut Emitter, char),
    ) -> bool {
        let (mut spaces, mut breaks) = (false, false);
        for (index, letter) in text.char_indices() {
            if letter == ' ' {
                let next_is_space = text[index + 1..].starts_with(' ');
                let too_wide = self.column > self.options.width;
                if may_break && !spaces && too_wide && !next_is_space && !keeps_space(index) {
                    self.new_line();
                } else {
                    self.put(letter);
                }
                spaces = true;
            } else if is_break(letter) {
                if !breaks && letter == '\n' {
                    self.put('\n');
                }
                self.put(letter);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.new_line();
                }
                put(self, letter);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
        breaks
    }

    fn double_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("\"", true, false, false);
        let last = text.len().saturating_sub(1);
        let mut spaces = false;
        for (index, letter) in text.char_indices() {
            let is_inside = index != 0 && index != last;
            if letter == ' ' && may_break && !spaces && self.column > self.options.width && is_inside {
                self.new_line();
                if text[index + 1..].starts_with(' ') {
                    self.put('\\');
                }
            } else if must_escape(letter, self.options.unicode) {
                escaped(letter).chars().for_each(|letter| self.put(letter));
            } else {
                self.put(letter);
            }
            spaces = letter == ' ';
        }
        self.indicator("\"", false, false, false);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        for line in text.lines() {
            self.put('\n');
            (0..self.indent.unwrap_or(0)).for_each(|_| self.put(' '));
            line.chars().for_each(|letter| self.put(letter));
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_whitespace: bool, is_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|letter| self.put(letter));
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    fn new_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Indents what follows; returns the previous indent.
    fn deepen(&mut self, is_flow: bool, indentless: bool) -> Option<usize> {
        let before = self.indent;
        self.indent = Some(match before {
            None if is_flow => self.options.indent,
            None => 0,
            Some(indent) if indentless => indent,
            Some(indent) => indent + self.options.indent,
        });
        before
    }

    fn put(&mut self, letter: char) {
        self.out.push(letter);
        self.column = if is_break(letter) { 0 } else { self.column + 1 };
    }
}
