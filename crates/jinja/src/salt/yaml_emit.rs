//! Writes YAML as Salt's `yaml` filter does: libyaml's layout, sorted keys, lines folded at 80 columns.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;

use crate::error::{Error, Result};
use crate::value::{Comparison, MAX_NESTING, Value, float_text};
use rocksalt_core::sort::sort_by;
use rocksalt_core::yaml::written::is_string;
use rocksalt_core::yaml::{Emitter, EmitterOptions, ScalarText};

const OPTIONS: EmitterOptions = EmitterOptions { width: 80, indent: 2, unicode: true };

/// Writes YAML without a final newline. `flow` selects the style `{a: 1}`. Fails beyond `limit` bytes.
pub(super) fn emit(value: &Value, flow: bool, limit: usize) -> Result<String> {
    let mut writer = ObjectWriter {
        emitter: Emitter::new(OPTIONS),
        flow,
        seen: HashMap::new(),
        anchors: 0,
        written: HashSet::new(),
        limit,
    };
    writer.find_anchors(value, 0)?;
    writer.node(value, ObjectRole::Value { in_map: false }, 0)?;
    Ok(writer.emitter.finish().trim().to_owned())
}

/// Walks Python objects; a container that occurs again is written as an alias.
struct ObjectWriter {
    emitter: Emitter,
    flow: bool,
    /// Containers by address; those that occur again have a number.
    seen: HashMap<*const (), Option<usize>>,
    anchors: usize,
    written: HashSet<*const ()>,
    limit: usize,
}

#[derive(Clone, Copy)]
enum ObjectRole {
    Key,
    Value { in_map: bool },
}

impl ObjectWriter {
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

    fn node(&mut self, value: &Value, role: ObjectRole, depth: usize) -> Result<()> {
        if depth > MAX_NESTING {
            return Err(Error::too_deep("writing"));
        }
        if self.emitter.len() > self.limit {
            return Err(Error::limit(format!("the YAML is larger than {} bytes", self.limit)));
        }
        if let Some(address) = address(value)
            && let Some(Some(number)) = self.seen.get(&address).copied()
        {
            if !self.written.insert(address) {
                self.emitter.mark(&format!("*id{number:03}"));
                return Ok(());
            }
            self.emitter.mark(&format!("&id{number:03}"));
        }
        match value {
            Value::List(items) | Value::Tuple(items) => {
                let items = items.borrow().clone();
                self.sequence(&items, role, depth)
            }
            Value::Dict(_) => self.mapping(&pairs(value)?, depth),
            Value::Set(set) => {
                self.emitter.mark("!!set");
                let mut items: Vec<Value> = set.borrow().iter().cloned().collect();
                sort(&mut items, |item| item);
                let pairs: Vec<(Value, Value)> = items.into_iter().map(|item| (item, Value::None)).collect();
                self.mapping(&pairs, depth)
            }
            scalar => {
                self.emitter.scalar(&scalar_text(scalar), matches!(role, ObjectRole::Key));
                Ok(())
            }
        }
    }

    fn is_flow(&self, is_empty: bool) -> bool {
        self.flow || is_empty || self.emitter.in_flow()
    }

    fn sequence(&mut self, items: &[Value], role: ObjectRole, depth: usize) -> Result<()> {
        let is_flow = self.is_flow(items.is_empty());
        let sequence = self.emitter.begin_sequence(is_flow, matches!(role, ObjectRole::Value { in_map: true }));
        for (index, item) in items.iter().enumerate() {
            self.emitter.item(&sequence, index);
            self.node(item, ObjectRole::Value { in_map: false }, depth + 1)?;
        }
        self.emitter.end_sequence(sequence);
        Ok(())
    }

    fn mapping(&mut self, pairs: &[(Value, Value)], depth: usize) -> Result<()> {
        let is_flow = self.is_flow(pairs.is_empty());
        let mapping = self.emitter.begin_mapping(is_flow);
        for (index, (key, value)) in pairs.iter().enumerate() {
            let simple = is_simple_key(key);
            self.emitter.key(&mapping, index, simple);
            self.node(key, if simple { ObjectRole::Key } else { ObjectRole::Value { in_map: true } }, depth + 1)?;
            self.emitter.value(&mapping, simple);
            self.node(value, ObjectRole::Value { in_map: true }, depth + 1)?;
        }
        self.emitter.end_mapping(mapping);
        Ok(())
    }
}

fn is_simple_key(key: &Value) -> bool {
    match key {
        Value::Tuple(items) => items.borrow().is_empty(),
        other => scalar_text(other).is_simple_key(OPTIONS.unicode),
    }
}

fn scalar_text(value: &Value) -> ScalarText<'_> {
    let plain = |text: String| ScalarText { text: text.into(), tag: None, plain: true };
    match value {
        Value::None => plain("null".into()),
        Value::Bool(flag) => plain(flag.to_string()),
        Value::Int(number) => plain(number.to_string()),
        Value::BigInt(number) => plain(number.to_string()),
        Value::Float(number) => plain(float(*number)),
        // A string needs quotes if it would otherwise be another type.
        Value::String(text) if !text.is_safe() => {
            ScalarText { text: (&**text).into(), tag: None, plain: is_string(text) }
        }
        Value::Bytes(bytes) => ScalarText { text: binary(bytes).into(), tag: Some("!!binary"), plain: true },
        // As in Salt, unknown objects are written as NULL, and so is the text of a filter such as `json`.
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

/// The pairs of a dict, sorted if their keys can be compared. An ordered dict keeps its order.
fn pairs(value: &Value) -> Result<Vec<(Value, Value)>> {
    let Value::Dict(dict) = value else { return Ok(Vec::new()) };
    let mut pairs: Vec<(Value, Value)> =
        dict.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    if !dict.borrow().is_ordered() {
        sort(&mut pairs, |pair| &pair.0);
    }
    Ok(pairs)
}

/// Sorts the items, unless Python couldn't compare them.
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

/// The address of a container that an alias can refer to.
fn address(value: &Value) -> Option<*const ()> {
    match value {
        Value::List(items) => Some(std::rc::Rc::as_ptr(items).cast()),
        Value::Tuple(items) if !items.borrow().is_empty() => Some(std::rc::Rc::as_ptr(items).cast()),
        Value::Dict(dict) => Some(std::rc::Rc::as_ptr(dict).cast()),
        Value::Set(set) => Some(std::rc::Rc::as_ptr(set).cast()),
        _ => None,
    }
}
