//! The difference between two contents in Salt's form.

use rocksalt_core::Value;

use super::Flag;
use crate::machine::Probe;
use crate::text::diff;

/// Salt's text for a difference that is not shown.
pub const HIDDEN: &str = "<show_changes=False>";

/// Empty if there is none.
pub fn shown(machine: &dyn Probe, old: &[u8], new: &[u8], show_changes: bool) -> String {
    if old == new {
        return String::new();
    }
    if machine.options().get("obfuscate_templates").is_some_and(Value::truth) {
        return "<Obfuscated Template>".into();
    }
    if !show_changes {
        return HIDDEN.into();
    }
    of(old, new)
}

/// The difference, without regard to `show_changes`.
pub fn of(old: &[u8], new: &[u8]) -> String {
    if old == new {
        return String::new();
    }
    match (is_binary(old), is_binary(new)) {
        (true, true) => "Replace binary file".into(),
        (true, false) => "Replace binary file with text file".into(),
        (false, true) => "Replace text file with binary file".into(),
        (false, false) => diff::unified(&decoded(old), &decoded(new), "", ""),
    }
}

/// Salt's heuristic on the first block: NUL bytes, or more than 30 % of non-text bytes.
pub fn is_binary(content: &[u8]) -> bool {
    let block = &content[..content.len().min(512)];
    if block.contains(&0) {
        return true;
    }
    // A character that the end of the block cuts off counts as text.
    let is_text = std::str::from_utf8(block).map_or_else(|error| error.error_len().is_none(), |_| true);
    let plain = |byte: u8| (32..127).contains(&byte) || b"\n\r\t\x0c\x08".contains(&byte);
    let strange = block.iter().filter(|byte| !(plain(**byte) || is_text && (128..255).contains(*byte))).count();
    strange * 10 > block.len() * 3
}

/// Lines that are not UTF-8 are decoded as Latin-1.
fn decoded(content: &[u8]) -> String {
    let line = |line: &[u8]| match std::str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(_) => line.iter().map(|byte| char::from(*byte)).collect(),
    };
    content.split_inclusive(|byte| *byte == b'\n').map(line).collect()
}

/// Differences to ignore (`ignore_ordering` and similar).
#[derive(Clone, Default)]
pub struct Ignored {
    pub ordering: Flag,
    pub whitespace: Flag,
    pub comments: Vec<String>,
}

impl Ignored {
    pub fn any(&self) -> bool {
        self.ordering.0 || self.whitespace.0 || !self.comments.is_empty()
    }

    /// Whether the contents differ, apart from ignored differences.
    pub fn differ(&self, old: &[u8], new: &[u8]) -> bool {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for line in of(old, new).split_inclusive('\n') {
            if line.starts_with("+++") || line.starts_with("---") {
                continue;
            }
            let lines = match line.chars().next() {
                Some('+') => &mut added,
                Some('-') => &mut removed,
                _ => continue,
            };
            let mut line = &line[1..];
            for sign in &self.comments {
                line = line.split_once(sign.as_str()).map_or(line, |(before, _)| before);
            }
            if self.whitespace.0 {
                line = line.trim();
            }
            if !line.is_empty() {
                lines.push(line.to_owned());
            }
        }
        removed.sort();
        added.sort();
        removed != added
    }
}
