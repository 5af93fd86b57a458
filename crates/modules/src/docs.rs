//! What the functions say of themselves: `sys.doc`, argument lists, and the reference.
//!
//! All of it comes from the doc comments over the argument structs; nothing is written twice.

use std::fmt::Write;

use rocksalt_core::{Map, Value, json};

use rocksalt_core::description::Shape;

use crate::catalog::description::Description;
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
    pub shape: Shape,
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
    described((entry.description)())
}

/// What one state says.
pub fn of_state(entry: &StateEntry) -> Doc {
    described((entry.description)())
}

fn described(description: Description) -> Doc {
    let rest = description.arguments.iter().position(|argument| argument.name == description.rest);
    let arguments = description.arguments.into_iter().enumerate().map(|(index, argument)| {
        let kind = match rest {
            _ if argument.name == NAMED => ArgumentKind::Named,
            Some(rest) if rest == index => ArgumentKind::Rest,
            Some(rest) if rest < index => ArgumentKind::NameOnly,
            _ => ArgumentKind::Plain,
        };
        Argument {
            name: argument.name,
            text: argument.doc.replace('\n', " "),
            kind,
            shape: argument.shape,
            default: argument.default,
        }
    });
    Doc {
        name: description.name,
        aliases: description.aliases,
        text: description.doc.to_owned(),
        arguments: arguments.collect(),
    }
}

/// The arguments as a JSON schema.
pub fn schema(doc: &Doc) -> Value {
    let mut properties = Map::new();
    for argument in &doc.arguments {
        let mut property = Map::from_iter([("description".into(), argument.text.as_str().into())]);
        property.extend(shape_schema(&argument.shape));
        if let Some(default) = argument.default.as_ref().filter(|default| !default.is_null()) {
            property.insert("default", default.clone());
        }
        properties.insert(argument.name, property);
    }
    let required = doc.arguments.iter().filter(|argument| argument.default.is_none());
    let required: Vec<Value> = required.map(|argument| argument.name.into()).collect();
    let mut schema = Map::from_iter([
        ("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into()),
        ("title".into(), doc.name.into()),
        ("description".into(), doc.text.as_str().into()),
        ("type".into(), "object".into()),
        ("properties".into(), properties.into()),
    ]);
    if !required.is_empty() {
        schema.insert("required", required);
    }
    schema.into()
}

fn shape_schema(shape: &Shape) -> Map {
    let (kind, minimum) = match shape {
        Shape::Any => return Map::new(),
        Shape::Bool | Shape::Flag => ("boolean", None),
        Shape::I32 | Shape::I64 => ("integer", None),
        Shape::U16 | Shape::U32 | Shape::U64 => ("integer", Some(0)),
        Shape::F64 => ("number", None),
        Shape::Text => ("string", None),
        Shape::Map => ("object", None),
        Shape::List(_) => ("array", None),
        Shape::Optional(inner) => {
            let mut schema = shape_schema(inner);
            if let Some(kind) = schema.get("type").cloned() {
                schema.insert("type", vec![kind, "null".into()]);
            }
            return schema;
        }
    };
    let mut schema = Map::from_iter([("type".into(), kind.into())]);
    if let Some(minimum) = minimum {
        schema.insert("minimum", minimum);
    }
    if let Shape::List(item) = shape {
        schema.insert("items", shape_schema(item));
    }
    schema
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
