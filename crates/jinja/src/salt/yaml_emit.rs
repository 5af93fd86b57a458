//! YAML as Salt's `yaml` filter writes it: libyaml's layout, keys sorted, lines folded at 80 columns.

use std::collections::HashMap;

use base64::Engine as _;

use crate::error::{Error, Result};
use crate::value::{Comparison, MAX_NESTING, Value, float_text};
use rocksalt_core::sort::sort_by;
use rocksalt_core::yaml::written::{Analysis, escaped, is_break, is_string, must_escape};

const WIDTH: usize = 80;
const INDENT: i32 = 2;
/// The longest key that stands before its colon; a longer one follows a question mark.
const KEY_LENGTH: usize = 128;

/// `flow` is `{a: 1}`, otherwise one line an entry. Without a newline at the end; fails beyond `limit` bytes.
pub(super) fn emit(value: &Value, flow: bool, limit: usize) -> Result<String> {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        indent: -1,
        flow,
        flow_level: 0,
        whitespace: true,
        indention: true,
        seen: HashMap::new(),
        anchors: 0,
        written: HashMap::new(),
        limit,
    };
    emitter.find_anchors(value, 0)?;
    emitter.node(value, Place::Value { in_map: false }, 0)?;
    let text = emitter.out.trim().to_owned();
    Ok(text)
}

struct Emitter {
    out: String,
    column: usize,
    indent: i32,
    flow: bool,
    flow_level: usize,
    /// What was written last was white space, or may be followed directly.
    whitespace: bool,
    /// Only indentation and dashes are on the line so far.
    indention: bool,
    /// Containers by address; those that come again have a number.
    seen: HashMap<*const (), Option<usize>>,
    anchors: usize,
    written: HashMap<*const (), ()>,
    limit: usize,
}

#[derive(Clone, Copy)]
enum Place {
    Key,
    Value { in_map: bool },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
}

/// A scalar, as far as writing it is concerned.
struct Scalar {
    text: String,
    tag: Option<&'static str>,
    /// A string has to be quoted where it would mean something else.
    is_string: bool,
}

impl Emitter {
    fn find_anchors(&mut self, value: &Value, depth: usize) -> Result<()> {
        if depth > MAX_NESTING {
            return Err(Error::too_deep("writing"));
        }
        let Some(address) = address(value) else { return Ok(()) };
        if let Some(number) = self.seen.get_mut(&address) {
            if number.is_none() {
                self.anchors += 1;
                *number = Some(self.anchors);
            }
            return Ok(());
        }
        self.seen.insert(address, None);
        match value {
            Value::List(items) | Value::Tuple(items) => {
                items.borrow().iter().try_for_each(|item| self.find_anchors(item, depth + 1))
            }
            Value::Dict(_) => pairs(value)?.iter().try_for_each(|(key, value)| {
                self.find_anchors(key, depth + 1)?;
                self.find_anchors(value, depth + 1)
            }),
            _ => Ok(()),
        }
    }

    fn node(&mut self, value: &Value, place: Place, depth: usize) -> Result<()> {
        if depth > MAX_NESTING {
            return Err(Error::too_deep("writing"));
        }
        if self.out.len() > self.limit {
            return Err(Error::limit(format!("the YAML is larger than {} bytes", self.limit)));
        }
        if let Some(address) = address(value)
            && let Some(Some(number)) = self.seen.get(&address).copied()
        {
            if self.written.insert(address, ()).is_some() {
                self.indicator(&format!("*id{number:03}"), true, false, false);
                return Ok(());
            }
            self.indicator(&format!("&id{number:03}"), true, false, false);
        }
        match value {
            Value::List(items) | Value::Tuple(items) => {
                let items = items.borrow().clone();
                self.sequence(&items, place, depth)
            }
            Value::Dict(_) => self.mapping(&pairs(value)?, depth),
            Value::Set(set) => {
                self.indicator("!!set", true, false, false);
                let mut items: Vec<Value> = set.borrow().iter().cloned().collect();
                sort(&mut items, |item| item);
                let pairs: Vec<(Value, Value)> = items.into_iter().map(|item| (item, Value::None)).collect();
                self.mapping(&pairs, depth)
            }
            scalar => {
                let scalar = scalar_of(scalar);
                self.scalar(&scalar, matches!(place, Place::Key));
                Ok(())
            }
        }
    }

    fn sequence(&mut self, items: &[Value], place: Place, depth: usize) -> Result<()> {
        let outer = self.indent;
        if self.flow_level > 0 || self.flow || items.is_empty() {
            self.indicator("[", true, true, false);
            self.deepen(true, false);
            self.flow_level += 1;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    self.indicator(",", false, false, false);
                }
                if self.column > WIDTH {
                    self.new_line();
                }
                self.node(item, Place::Value { in_map: false }, depth + 1)?;
            }
            self.flow_level -= 1;
            self.indent = outer;
            self.indicator("]", false, false, false);
        } else {
            let in_map = matches!(place, Place::Value { in_map: true });
            self.deepen(false, in_map && !self.indention);
            for item in items {
                self.new_line();
                self.indicator("-", true, false, true);
                self.node(item, Place::Value { in_map: false }, depth + 1)?;
            }
            self.indent = outer;
        }
        Ok(())
    }

    fn mapping(&mut self, pairs: &[(Value, Value)], depth: usize) -> Result<()> {
        let outer = self.indent;
        let flow = self.flow_level > 0 || self.flow || pairs.is_empty();
        if flow {
            self.indicator("{", true, true, false);
            self.flow_level += 1;
        }
        self.deepen(flow, false);
        for (index, (key, value)) in pairs.iter().enumerate() {
            if flow {
                if index > 0 {
                    self.indicator(",", false, false, false);
                }
                if self.column > WIDTH {
                    self.new_line();
                }
            } else {
                self.new_line();
            }
            if is_simple_key(key) {
                self.node(key, Place::Key, depth + 1)?;
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, !flow);
                self.node(key, Place::Value { in_map: true }, depth + 1)?;
                if !flow || self.column > WIDTH {
                    self.new_line();
                }
                self.indicator(":", true, false, !flow);
            }
            self.node(value, Place::Value { in_map: true }, depth + 1)?;
        }
        self.indent = outer;
        if flow {
            self.flow_level -= 1;
            self.indicator("}", false, false, false);
        }
        Ok(())
    }

    fn scalar(&mut self, scalar: &Scalar, is_key: bool) {
        let outer = self.indent;
        self.deepen(true, false);
        if let Some(tag) = scalar.tag {
            self.indicator(tag, true, false, false);
        }
        let analysis = Analysis::of(&scalar.text, true);
        match style(scalar, &analysis, self.flow_level > 0, is_key) {
            _ if scalar.tag.is_some() && self.flow_level == 0 && !is_key => self.literal(&scalar.text),
            Style::Plain => self.plain(&scalar.text, !is_key),
            Style::Single => self.single(&scalar.text, !is_key),
            Style::Double => self.double(&scalar.text, !is_key),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, may_break: bool) {
        if !self.whitespace && (!text.is_empty() || self.flow_level > 0) {
            self.put(' ');
        }
        self.folded(text, may_break, |_, _| false, |emitter, c| emitter.put(c));
        self.whitespace = false;
        self.indention = false;
    }

    fn single(&mut self, text: &str, may_break: bool) {
        self.indicator("'", true, false, false);
        let last = text.len().saturating_sub(1);
        let broke = self.folded(
            text,
            may_break,
            |index, _| index == 0 || index == last,
            |emitter, c| {
                if c == '\'' {
                    emitter.put('\'');
                }
                emitter.put(c);
            },
        );
        if broke {
            self.new_line();
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a text that may be folded at single spaces, and whose breaks are doubled. True if it ends with one.
    fn folded(
        &mut self,
        text: &str,
        may_break: bool,
        keep: impl Fn(usize, char) -> bool,
        put: impl Fn(&mut Emitter, char),
    ) -> bool {
        let (mut spaces, mut breaks) = (false, false);
        for (index, c) in text.char_indices() {
            if c == ' ' {
                let next_is_space = text[index + 1..].starts_with(' ');
                if may_break && !spaces && self.column > WIDTH && !next_is_space && !keep(index, c) {
                    self.new_line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put('\n');
                }
                self.put(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.new_line();
                }
                put(self, c);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
        }
        breaks
    }

    fn double(&mut self, text: &str, may_break: bool) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let last = text.len().saturating_sub(1);
        for (index, c) in text.char_indices() {
            if c == ' ' {
                if may_break && !spaces && self.column > WIDTH && index != 0 && index != last {
                    self.new_line();
                    if text[index + 1..].starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                match must_escape(c, true) {
                    true => escaped(c).chars().for_each(|c| self.put(c)),
                    false => self.put(c),
                }
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        for line in text.lines() {
            self.put('\n');
            for _ in 0..self.indent.max(0) {
                self.put(' ');
            }
            line.chars().for_each(|c| self.put(c));
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_white: bool, is_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.whitespace = is_white;
        self.indention = self.indention && is_indention;
    }

    fn new_line(&mut self) {
        let indent = self.indent.max(0) as usize;
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn deepen(&mut self, flow: bool, indentless: bool) {
        if self.indent < 0 {
            self.indent = if flow { INDENT } else { 0 };
        } else if !indentless {
            self.indent += INDENT;
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column = if is_break(c) { 0 } else { self.column + 1 };
    }
}

fn style(scalar: &Scalar, analysis: &Analysis, in_flow: bool, is_key: bool) -> Style {
    if is_key && analysis.multiline {
        return Style::Double;
    }
    let allowed = if in_flow { analysis.flow_plain } else { analysis.block_plain };
    let empty = scalar.text.is_empty() && (in_flow || is_key);
    let misread = scalar.is_string && !is_string(&scalar.text);
    match (allowed && !empty && !misread, analysis.single_quoted) {
        (true, _) => Style::Plain,
        (false, true) => Style::Single,
        (false, false) => Style::Double,
    }
}

fn is_simple_key(key: &Value) -> bool {
    match key {
        Value::Tuple(items) => items.borrow().is_empty(),
        other => {
            let scalar = scalar_of(other);
            scalar.text.len() + scalar.tag.map_or(0, str::len) <= KEY_LENGTH
                && !Analysis::of(&scalar.text, true).multiline
        }
    }
}

fn scalar_of(value: &Value) -> Scalar {
    let plain = |text: String| Scalar { text, tag: None, is_string: false };
    match value {
        Value::None => plain("null".into()),
        Value::Bool(flag) => plain(flag.to_string()),
        Value::Int(number) => plain(number.to_string()),
        Value::BigInt(number) => plain(number.to_string()),
        Value::Float(number) => plain(float(*number)),
        Value::String(text) if !text.is_safe() => Scalar { text: text.to_string(), tag: None, is_string: true },
        Value::Bytes(bytes) => Scalar { text: binary(bytes), tag: Some("!!binary"), is_string: false },
        // What the writer doesn't know, Salt writes so; text that went through a filter such as `json` is among it.
        _ => plain("NULL".into()),
    }
}

pub(super) fn float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let text = float_text(number);
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}

fn binary(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(57) {
        text.push_str(&base64::engine::general_purpose::STANDARD.encode(line));
        text.push('\n');
    }
    text
}

/// The pairs of a dict, sorted if their keys can be compared; those of an ordered one stay as they are.
fn pairs(value: &Value) -> Result<Vec<(Value, Value)>> {
    let Value::Dict(dict) = value else { return Ok(Vec::new()) };
    let mut pairs: Vec<(Value, Value)> =
        dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    if !dict.borrow().is_ordered() {
        sort(&mut pairs, |pair| &pair.0);
    }
    Ok(pairs)
}

/// Leaves the order as it is where Python could not compare.
fn sort<T: Clone>(items: &mut Vec<T>, key: impl Fn(&T) -> &Value) {
    let mut comparable = true;
    let mut sorted = items.clone();
    sort_by(&mut sorted, |a, b| {
        let (a, b) = (key(a), key(b));
        match (a.compares(Comparison::Less, b), b.compares(Comparison::Less, a)) {
            (Ok(true), _) => std::cmp::Ordering::Less,
            (Ok(false), Ok(true)) => std::cmp::Ordering::Greater,
            (Ok(false), Ok(false)) => std::cmp::Ordering::Equal,
            _ => {
                comparable = false;
                std::cmp::Ordering::Equal
            }
        }
    });
    if comparable {
        *items = sorted;
    }
}

/// Where a container lives, if it can be referred to.
fn address(value: &Value) -> Option<*const ()> {
    match value {
        Value::List(items) => Some(std::rc::Rc::as_ptr(items).cast()),
        Value::Tuple(items) if !items.borrow().is_empty() => Some(std::rc::Rc::as_ptr(items).cast()),
        Value::Dict(dict) => Some(std::rc::Rc::as_ptr(dict).cast()),
        Value::Set(set) => Some(std::rc::Rc::as_ptr(set).cast()),
        _ => None,
    }
}
