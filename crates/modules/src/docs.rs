//! What the functions say of themselves: `sys.doc`, argument lists, and the reference.
//!
//! All of it comes from the doc comments over the argument structs; nothing is written twice.

use std::fmt::Write;

use rocksalt_core::{Map, Value, json};
use serde_json::Value as Json;

use crate::catalog::{self, Entry, NAMED, StateEntry};

/// A function's documentation.
#[derive(Debug)]
pub struct Doc {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Paragraphs, and examples between lines of three backticks.
    pub text: String,
    /// In their order.
    pub arguments: Vec<Argument>,
}

#[derive(Debug)]
pub struct Argument {
    pub name: &'static str,
    pub text: String,
    pub kind: ArgumentKind,
    /// What it is if left out.
    pub default: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// By position or by name.
    Plain,
    /// Takes all further positional ones.
    Rest,
    /// Takes all further named ones.
    Named,
    /// By name only.
    NameOnly,
}

/// The texts of all functions that a pattern means: a function, a noun, or a shell pattern.
pub fn doc(pattern: &str) -> Map {
    catalog::matching(pattern).map(|entry| (entry.name.into(), plain(&of(entry)).into())).collect()
}

/// The arguments of all functions that a pattern means, in Salt's form.
pub fn argspec(pattern: &str) -> Value {
    let specs = catalog::matching(pattern).map(|entry| (Value::from(entry.name), spec(&of(entry))));
    Value::Map(specs.collect())
}

/// All functions as one page of Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Functions\n\nMade from the program's own documentation by a test; `rocksalt doc NAME` shows the same.\n",
    );
    for noun in catalog::nouns() {
        let _ = write!(page, "\n## {noun}\n");
        for entry in catalog::matching(noun) {
            section(&mut page, &of(entry));
        }
    }
    page
}

/// The texts of all states that a pattern means.
pub fn state_doc(pattern: &str) -> Map {
    catalog::matching_states(pattern).map(|entry| (entry.name.into(), plain(&of_state(entry)).into())).collect()
}

/// All states as one page of Markdown.
pub fn state_reference() -> String {
    let mut page = String::from(
        "# States\n\nMade from the program's own documentation by a test; `rocksalt doc NAME` shows the same. \
         [States](../states.md) says what all of them take besides (`require`, `unless`, `retry` …).\n",
    );
    let mut noun = "";
    for entry in catalog::states() {
        let of = entry.name.split('.').next().unwrap_or_default();
        if of != noun {
            noun = of;
            let _ = write!(page, "\n## {noun}\n");
        }
        section(&mut page, &of_state(entry));
    }
    page
}

fn section(page: &mut String, doc: &Doc) {
    let _ = write!(page, "\n### {}\n\n{}\n", doc.name, doc.text);
    if !doc.aliases.is_empty() {
        let names: Vec<String> = doc.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, "\nAlso called {}.\n", names.join(", "));
    }
    if !doc.arguments.is_empty() {
        page.push('\n');
    }
    for argument in &doc.arguments {
        let _ = writeln!(page, "- `{}`{}: {}", argument.shown(), argument.note(), argument.text);
    }
}

/// What one function says.
pub fn of(entry: &Entry) -> Doc {
    described(entry.name, entry.aliases, (entry.schema)().to_value(), (entry.arguments)(), entry.rest)
}

/// What one state says.
pub fn of_state(entry: &StateEntry) -> Doc {
    // Arguments of states go by name only; none takes what is left over by position.
    described(entry.name, &[], (entry.schema)().to_value(), (entry.arguments)(), "")
}

fn described(
    name: &'static str,
    aliases: &'static [&'static str],
    schema: Json,
    fields: &'static [&'static str],
    rest: &str,
) -> Doc {
    let inner = resolved(&schema);
    let text = schema.get("description").or_else(|| inner.get("description"));
    let required = inner.get("required").and_then(Json::as_array);
    let rest = fields.iter().position(|name| *name == rest);
    let arguments = fields.iter().enumerate().map(|(index, name)| {
        let property = inner.get("properties").and_then(|properties| properties.get(name));
        let words = property.and_then(|property| property.get("description")).and_then(Json::as_str);
        let kind = match rest {
            _ if *name == NAMED => ArgumentKind::Named,
            Some(rest) if rest == index => ArgumentKind::Rest,
            Some(rest) if rest < index => ArgumentKind::NameOnly,
            _ => ArgumentKind::Plain,
        };
        let needed = required.is_some_and(|names| names.iter().any(|needed| needed == name));
        let default = property.and_then(|property| property.get("default")).cloned().map(json::from_json);
        Argument {
            name,
            text: words.unwrap_or_default().replace('\n', " "),
            kind,
            default: if needed { None } else { Some(default.unwrap_or_default()) },
        }
    });
    Doc {
        name,
        aliases,
        text: text.and_then(Json::as_str).unwrap_or_default().to_owned(),
        arguments: arguments.collect(),
    }
}

/// The calls that a function's documentation shows, without the program's name.
pub fn examples(doc: &Doc) -> Vec<String> {
    let mut examples = Vec::new();
    let mut inside = false;
    for line in doc.text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            examples.extend(line.strip_prefix("rocksalt ").map(str::to_owned));
        }
    }
    examples
}

impl Argument {
    /// As in a signature: `*args`, `**kwargs`.
    pub fn shown(&self) -> String {
        match self.kind {
            ArgumentKind::Rest => format!("*{}", self.name),
            ArgumentKind::Named => format!("**{}", self.name),
            _ => self.name.to_owned(),
        }
    }

    fn note(&self) -> String {
        match (&self.kind, &self.default) {
            (ArgumentKind::Rest | ArgumentKind::Named, _) | (_, Some(Value::Null)) => String::new(),
            (_, None) => " (needed)".into(),
            (_, Some(default)) => format!(" (default {})", json::compact(default)),
        }
    }
}

/// A function that shares its arguments with others only refers to them.
fn resolved(schema: &Json) -> &Json {
    let name = schema.get("$ref").and_then(Json::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    name.and_then(|name| schema.get("$defs")?.get(name)).unwrap_or(schema)
}

/// As on a terminal: examples indented, then the arguments.
fn plain(doc: &Doc) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in doc.text.lines() {
        match line {
            fence if fence.starts_with("```") => inside = !inside,
            line if inside => {
                let _ = writeln!(text, "    {line}");
            }
            line => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    if !doc.arguments.is_empty() {
        text.push('\n');
    }
    for argument in &doc.arguments {
        let _ = writeln!(text, "{}{}\n    {}", argument.shown(), argument.note(), argument.text);
    }
    text
}

fn spec(doc: &Doc) -> Value {
    let plain =
        || doc.arguments.iter().filter(|argument| !matches!(argument.kind, ArgumentKind::Rest | ArgumentKind::Named));
    let list = |items: Vec<Value>| if items.is_empty() { Value::Null } else { Value::List(items) };
    let has =
        |kind| if doc.arguments.iter().any(|argument| argument.kind == kind) { Value::Bool(true) } else { Value::Null };
    Value::Map(Map::from_iter([
        ("args".into(), list(plain().map(|argument| argument.name.into()).collect())),
        ("defaults".into(), list(plain().filter_map(|argument| argument.default.clone()).collect())),
        ("varargs".into(), has(ArgumentKind::Rest)),
        ("kwargs".into(), has(ArgumentKind::Named)),
    ]))
}
