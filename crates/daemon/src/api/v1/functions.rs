//! What can run on targets: functions and states, from their own documentation.

use std::sync::LazyLock;

use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::{Value, nearest};
use rocksalt_modules::catalog;
use rocksalt_modules::docs::{self, ArgumentKind, Doc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;

/// Which functions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// A shell pattern for names, as in `file.*`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    name: Option<String>,
    /// Words that must be in the name or the text.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    search: Option<String>,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// Those after this name: `next` of the page before.
    #[serde(default)]
    #[schemars(length(max = 256))]
    after: Option<String>,
}

impl Input for Filter {}

fn hundred() -> usize {
    100
}

/// A name, in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamePath {
    #[schemars(length(min = 1, max = 256))]
    name: String,
}

impl Input for NamePath {}

/// A function or a state.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Function {
    name: String,
    /// Other names for the same.
    aliases: Vec<String>,
    /// Markdown.
    text: String,
    arguments: Vec<Argument>,
    /// The JSON schema of its arguments; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

/// An argument of a function.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Argument {
    name: String,
    text: String,
    /// `plain` (by position or by name), `rest` (all further positional ones), `named` (all further named ones) or
    /// `name_only`.
    kind: &'static str,
    required: bool,
    default: Value,
}

/// Some of them, by their names' order.
#[derive(Serialize, JsonSchema)]
pub struct FunctionPage {
    functions: Vec<Function>,
    /// Give it as `after` for the next page; `null` if this was the last.
    next: Option<String>,
}

/// Their documentation never changes, and takes a while to make.
static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let mut all: Vec<Function> = catalog::all().map(|entry| function(&docs::of(entry))).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
});

static STATES: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let mut all: Vec<Function> = catalog::states().map(|entry| function(&docs::of_state(entry))).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
});

pub async fn list(asked: Asked<Nothing, Filter, Nothing>) -> Result<Reply<FunctionPage>, Fault> {
    Ok(Reply::new(page(&FUNCTIONS, &asked.query)))
}

pub async fn list_states(asked: Asked<Nothing, Filter, Nothing>) -> Result<Reply<FunctionPage>, Fault> {
    Ok(Reply::new(page(&STATES, &asked.query)))
}

pub async fn one(asked: Asked<NamePath, Nothing, Nothing>) -> Result<Reply<Function>, Fault> {
    found(&FUNCTIONS, &asked.path.name)
}

pub async fn one_state(asked: Asked<NamePath, Nothing, Nothing>) -> Result<Reply<Function>, Fault> {
    found(&STATES, &asked.path.name)
}

fn page(all: &[Function], filter: &Filter) -> FunctionPage {
    let pattern = filter.name.as_deref().map(Glob::new);
    let words: Vec<String> =
        filter.search.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase).collect();
    let mut fitting = all.iter().filter(|function| {
        let text = || format!("{} {}", function.name, function.text).to_lowercase();
        pattern.as_ref().is_none_or(|pattern| pattern.matches(&function.name))
            && filter.after.as_ref().is_none_or(|after| function.name > *after)
            && (words.is_empty() || words.iter().all(|word| text().contains(word)))
    });
    let short = |function: &Function| Function { schema: None, ..function.clone() };
    let functions: Vec<Function> = fitting.by_ref().take(filter.limit).map(short).collect();
    let next = if fitting.next().is_some() { functions.last().map(|last| last.name.clone()) } else { None };
    FunctionPage { functions, next }
}

fn found(all: &[Function], name: &str) -> Result<Reply<Function>, Fault> {
    let mut known = all.iter();
    match known.find(|function| function.name == name || function.aliases.iter().any(|alias| alias == name)) {
        Some(function) => Ok(Reply::new(function.clone())),
        None => {
            let hint = nearest::hint(name, all.iter().map(|function| function.name.as_str()));
            Err(Fault::not_found(format!("there is none of that name{hint}")))
        }
    }
}

fn function(doc: &Doc) -> Function {
    let argument = |argument: &docs::Argument| Argument {
        name: argument.name.to_owned(),
        text: argument.text.clone(),
        kind: match argument.kind {
            ArgumentKind::Plain => "plain",
            ArgumentKind::Rest => "rest",
            ArgumentKind::Named => "named",
            ArgumentKind::NameOnly => "name_only",
        },
        required: argument.default.is_none(),
        default: argument.default.clone().unwrap_or_default(),
    };
    Function {
        name: doc.name.to_owned(),
        aliases: doc.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        text: doc.text.clone(),
        arguments: doc.arguments.iter().map(argument).collect(),
        schema: Some(docs::schema(doc)),
    }
}
