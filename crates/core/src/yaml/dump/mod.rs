//! Writes YAML byte for byte as PyYAML with libyaml does, for users' files.
//!
//! [`emit`](super::emit) writes for readers; this module writes for templates, whose output is compared.

mod emitter;
pub mod scalar;

use std::cmp::Ordering;

use crate::sort::sort_by;
use crate::value::{Map, Value};

pub use emitter::{Collection, Emitter, EmitterOptions, ScalarText};

/// The options of PyYAML's dump.
#[derive(Clone, Copy, Debug)]
pub struct DumpOptions {
    /// Whether to write `[a, b]` on one line: always, never, or for collections that contain only scalars (`None`).
    pub flow: Option<bool>,
    pub sort_keys: bool,
    /// Lines are folded at the first space after this column.
    pub width: usize,
    pub indent: usize,
    /// Whether letters outside of ASCII are written unescaped.
    pub unicode: bool,
    /// Whether to start with `---`.
    pub explicit_start: bool,
}

impl Default for DumpOptions {
    fn default() -> DumpOptions {
        DumpOptions { flow: None, sort_keys: true, width: 80, indent: 2, unicode: false, explicit_start: false }
    }
}

/// Writes a value, with a final newline; PyYAML's `...` after a lone scalar is omitted.
pub fn dump(value: &Value, options: DumpOptions) -> String {
    let DumpOptions { width, indent, unicode, .. } = options;
    let mut dumper = Dumper { emitter: Emitter::new(EmitterOptions { width, indent, unicode }), options };
    if options.explicit_start {
        dumper.emitter.mark("---");
    }
    dumper.node(value, NodeRole::Root);
    let mut text = dumper.emitter.finish();
    if !text.is_empty() && !text.ends_with(scalar::is_break) {
        text.push('\n');
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeRole {
    Root,
    Item,
    InMapping,
    SimpleKey,
}

struct Dumper {
    emitter: Emitter,
    options: DumpOptions,
}

impl Dumper {
    fn node(&mut self, value: &Value, role: NodeRole) {
        match value {
            Value::List(items) => {
                let is_flow = self.is_flow(value);
                let sequence = self.emitter.begin_sequence(is_flow, role == NodeRole::InMapping);
                for (index, item) in items.iter().enumerate() {
                    self.emitter.item(&sequence, index);
                    self.node(item, NodeRole::Item);
                }
                self.emitter.end_sequence(sequence);
            }
            Value::Map(map) => {
                let is_flow = self.is_flow(value);
                let mapping = self.emitter.begin_mapping(is_flow);
                for (index, (key, value)) in self.entries(map).into_iter().enumerate() {
                    let simple = is_simple(key, self.options.unicode);
                    self.emitter.key(&mapping, index, simple);
                    self.node(key, if simple { NodeRole::SimpleKey } else { NodeRole::InMapping });
                    self.emitter.value(&mapping, simple);
                    self.node(value, NodeRole::InMapping);
                }
                self.emitter.end_mapping(mapping);
            }
            scalar => self.emitter.scalar(&scalar_text(scalar), role == NodeRole::SimpleKey),
        }
    }

    fn is_flow(&self, value: &Value) -> bool {
        let scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_) | Value::Bytes(_));
        let (is_empty, only_scalars) = match value {
            Value::List(items) => (items.is_empty(), items.iter().all(scalar)),
            Value::Map(map) => (map.is_empty(), map.iter().all(|(key, value)| scalar(key) && scalar(value))),
            _ => (true, true),
        };
        self.emitter.in_flow() || is_empty || self.options.flow.unwrap_or(only_scalars)
    }

    /// The entries, sorted if Python could sort them.
    fn entries<'a>(&self, map: &'a Map) -> Vec<(&'a Value, &'a Value)> {
        let mut entries: Vec<(&Value, &Value)> = map.iter().collect();
        let mut sortable = true;
        if self.options.sort_keys {
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
}

fn scalar_text(scalar: &Value) -> ScalarText<'_> {
    let (text, plain) = scalar::represent(scalar);
    ScalarText { text, tag: None, plain }
}

/// Whether a key can be written before a colon without a question mark.
fn is_simple(key: &Value, unicode: bool) -> bool {
    match key {
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        scalar => scalar_text(scalar).is_simple_key(unicode),
    }
}

/// Compares keys like Python; `None` if Python can't compare them.
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
