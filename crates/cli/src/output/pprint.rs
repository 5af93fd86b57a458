//! `pprint`: the layout of Python's pretty printer, 80 columns wide.

use rocksalt_core::{Map, Value};

use super::{Outputter, Style, named, python};

const WIDTH: usize = 80;

pub struct PrettyPrint;

impl Outputter for PrettyPrint {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        print(&named(id, value), style)
    }

    fn all(&self, results: &Map, style: &Style) -> String {
        print(&Value::Map(results.clone()), style)
    }
}

fn print(value: &Value, style: &Style) -> String {
    let step = style.indent.and_then(|indent| usize::try_from(indent).ok()).unwrap_or(1).min(WIDTH);
    let mut printer = PythonPrinter { step, out: String::new() };
    printer.value(&python::sorted_deeply(value), 0, 0);
    printer.out.push('\n');
    printer.out
}

struct PythonPrinter {
    /// The indentation of each level.
    step: usize,
    out: String,
}

impl PythonPrinter {
    /// Prints a value. `column` is the current column; `after` is the number of characters that must follow on the last
    /// line.
    fn value(&mut self, value: &Value, column: usize, after: usize) {
        let flat = python::repr(value);
        if length(&flat) + column + after <= WIDTH {
            return self.out.push_str(&flat);
        }
        match value {
            Value::String(text) => self.text(text, column, after),
            Value::List(items) => {
                self.open('[');
                let inner = column + self.step;
                for (index, item) in items.iter().enumerate() {
                    self.separate(index, inner);
                    self.value(item, inner, if index + 1 == items.len() { after + 1 } else { 1 });
                }
                self.out.push(']');
            }
            Value::Map(map) => {
                self.open('{');
                let inner = column + self.step;
                for (index, (key, value)) in map.iter().enumerate() {
                    self.separate(index, inner);
                    let key = python::repr(key);
                    self.out.push_str(&format!("{key}: "));
                    self.value(value, inner + length(&key) + 2, if index + 1 == map.len() { after + 1 } else { 1 });
                }
                self.out.push('}');
            }
            _ => self.out.push_str(&flat),
        }
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.out.push_str(&" ".repeat(self.step.saturating_sub(1)));
    }

    fn separate(&mut self, index: usize, column: usize) {
        if index > 0 {
            self.out.push_str(&format!(",\n{:column$}", ""));
        }
    }

    /// Splits a long text into several literals, at line ends and blanks.
    fn text(&mut self, text: &str, column: usize, after: usize) {
        let width = WIDTH.saturating_sub(column);
        let lines = lines_with_ends(text);
        let mut literals = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let is_last = index + 1 == lines.len();
            let literal = python::quoted(line);
            if length(&literal) <= if is_last { width.saturating_sub(after) } else { width } {
                literals.push(literal);
                continue;
            }
            let words = words_with_blanks(line);
            let mut current = String::new();
            for (position, word) in words.iter().enumerate() {
                let room = if is_last && position + 1 == words.len() { width.saturating_sub(after) } else { width };
                let candidate = format!("{current}{word}");
                if length(&python::quoted(&candidate)) <= room {
                    current = candidate;
                    continue;
                }
                if !current.is_empty() {
                    literals.push(python::quoted(&current));
                }
                current = (*word).to_owned();
            }
            if !current.is_empty() {
                literals.push(python::quoted(&current));
            }
        }
        self.out.push_str(&literals.join(&format!("\n{:column$}", "")));
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn lines_with_ends(text: &str) -> Vec<&str> {
    let lines = python::lines(text);
    let start = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let ends = lines.iter().skip(1).map(|line| start(line)).chain([text.len()]);
    lines.iter().zip(ends).map(|(line, end)| &text[start(line)..end]).collect()
}

/// Each word with the blanks after it; leading blanks are a word of their own.
fn words_with_blanks(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let blanks = rest[word..].find(|c: char| !c.is_whitespace()).unwrap_or(rest.len() - word);
        let (head, tail) = rest.split_at(word + blanks);
        words.push(head);
        rest = tail;
    }
    words
}
