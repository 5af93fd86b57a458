//! What the functions say of themselves: `sys.doc`, argument lists, and the reference.
//!
//! All of it comes from the doc comments over the argument structs; nothing is written twice.

use std::fmt::Write;

use rocksalt_core::arguments::NAMED;
use rocksalt_core::description::Shape;
use rocksalt_core::{Map, Value, json};

use crate::{Argument, Description, STATES, matching, matching_states, nouns};

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
    matching(pattern).map(|one| (one.name.into(), plain(one).into())).collect()
}

/// The arguments of all functions that a pattern means, in Salt's form.
pub fn argspec(pattern: &str) -> Value {
    let specs = matching(pattern).map(|one| (Value::from(one.name), spec(one)));
    Value::Map(specs.collect())
}

/// All functions as one page of Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Functions\n\nMade from the program's own documentation by a test; `rocksalt doc NAME` shows the same.\n",
    );
    for noun in nouns() {
        let _ = write!(page, "\n## {noun}\n");
        for function in matching(noun) {
            section(&mut page, function);
        }
    }
    page
}

/// The texts of all states that a pattern means.
pub fn state_doc(pattern: &str) -> Map {
    matching_states(pattern).map(|one| (one.name.into(), plain(one).into())).collect()
}

/// All states as one page of Markdown.
pub fn state_reference() -> String {
    let mut page = String::from(
        "# States\n\nMade from the program's own documentation by a test; `rocksalt doc NAME` shows the same. \
         [States](../states.md) says what all of them take besides (`require`, `unless`, `retry` …).\n",
    );
    let mut noun = "";
    for state in STATES {
        let of = state.name.split('.').next().unwrap_or_default();
        if of != noun {
            noun = of;
            let _ = write!(page, "\n## {noun}\n");
        }
        section(&mut page, state);
    }
    page
}

fn section(page: &mut String, doc: &Description) {
    let _ = write!(page, "\n### {}\n\n{}\n", doc.name, doc.doc);
    if !doc.aliases.is_empty() {
        let names: Vec<String> = doc.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, "\nAlso called {}.\n", names.join(", "));
    }
    if !doc.arguments.is_empty() {
        page.push('\n');
    }
    for argument in doc.arguments {
        let _ = writeln!(page, "- `{}`{}: {}", doc.shown(argument), doc.note(argument), argument.text());
    }
}

/// The arguments as a JSON schema.
pub fn schema(doc: &Description) -> Value {
    let mut properties = Map::new();
    for argument in doc.arguments {
        let mut property = Map::from_iter([("description".into(), argument.text().into())]);
        property.extend(shape_schema(&argument.shape));
        if let Some(default) = argument.default().filter(|default| !default.is_null()) {
            property.insert("default", default);
        }
        properties.insert(argument.name, property);
    }
    let required = doc.arguments.iter().filter(|argument| argument.default.is_none());
    let required: Vec<Value> = required.map(|argument| argument.name.into()).collect();
    let mut schema = Map::from_iter([
        ("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into()),
        ("title".into(), doc.name.into()),
        ("description".into(), doc.doc.into()),
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
pub fn examples(doc: &Description) -> Vec<String> {
    let mut examples = Vec::new();
    let mut inside = false;
    for line in doc.doc.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            examples.extend(line.strip_prefix("rocksalt ").map(str::to_owned));
        }
    }
    examples
}

impl Argument {
    /// Its documentation as one line.
    pub fn text(&self) -> String {
        self.doc.replace('\n', " ")
    }

    /// What it is if left out; `None` if it must be given.
    pub fn default(&self) -> Option<Value> {
        self.default.map(|text| json::parse(text).unwrap_or_default())
    }
}

impl Description {
    /// How an argument of this function or state is given.
    pub fn kind(&self, argument: &Argument) -> ArgumentKind {
        let place = |name: &str| self.arguments.iter().position(|known| known.name == name);
        match place(self.rest) {
            _ if argument.name == NAMED => ArgumentKind::Named,
            Some(_) if argument.name == self.rest => ArgumentKind::Rest,
            Some(rest) if place(argument.name).is_some_and(|place| place > rest) => ArgumentKind::NameOnly,
            _ => ArgumentKind::Plain,
        }
    }

    /// As in a signature: `*args`, `**kwargs`.
    fn shown(&self, argument: &Argument) -> String {
        match self.kind(argument) {
            ArgumentKind::Rest => format!("*{}", argument.name),
            ArgumentKind::Named => format!("**{}", argument.name),
            _ => argument.name.to_owned(),
        }
    }

    fn note(&self, argument: &Argument) -> String {
        match (self.kind(argument), argument.default()) {
            (ArgumentKind::Rest | ArgumentKind::Named, _) | (_, Some(Value::Null)) => String::new(),
            (_, None) => " (needed)".into(),
            (_, Some(default)) => format!(" (default {})", json::compact(&default)),
        }
    }
}

/// As on a terminal: examples indented, then the arguments.
fn plain(doc: &Description) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in doc.doc.lines() {
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
    for argument in doc.arguments {
        let _ = writeln!(text, "{}{}\n    {}", doc.shown(argument), doc.note(argument), argument.text());
    }
    text
}

fn spec(doc: &Description) -> Value {
    let plain = || {
        doc.arguments.iter().filter(|argument| !matches!(doc.kind(argument), ArgumentKind::Rest | ArgumentKind::Named))
    };
    let list = |items: Vec<Value>| if items.is_empty() { Value::Null } else { Value::List(items) };
    let has = |kind| {
        if doc.arguments.iter().any(|argument| doc.kind(argument) == kind) { Value::Bool(true) } else { Value::Null }
    };
    Value::Map(Map::from_iter([
        ("args".into(), list(plain().map(|argument| argument.name.into()).collect())),
        ("defaults".into(), list(plain().filter_map(|argument| argument.default()).collect())),
        ("varargs".into(), has(ArgumentKind::Rest)),
        ("kwargs".into(), has(ArgumentKind::Named)),
    ]))
}
