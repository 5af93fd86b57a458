//! Functions and states with their documentation.

use std::sync::LazyLock;

use rocksalt_catalog::docs::{self, ArgumentKind};
use rocksalt_catalog::{Description, FUNCTIONS, STATES};
use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::{Value, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::reply::ApiReply;

/// Selects functions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionQuery {
    /// A glob for names, as in `file.*`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    name: Option<String>,
    /// Words that must occur in the name or the text.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    search: Option<String>,
    #[serde(default = "super::query::default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// Names after this one: `next` of the previous page.
    #[serde(default)]
    #[schemars(length(max = 256))]
    after: Option<String>,
}

impl ApiInput for FunctionQuery {}

/// A name in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamePath {
    #[schemars(length(min = 1, max = 256))]
    name: String,
}

impl ApiInput for NamePath {}

/// A function or a state.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "Function")]
pub struct FunctionInfo {
    name: String,
    /// Other names.
    aliases: Vec<String>,
    /// Markdown.
    text: String,
    arguments: Vec<ArgumentInfo>,
    /// The JSON schema of its arguments; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

/// An argument of a function.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "Argument")]
pub struct ArgumentInfo {
    name: String,
    text: String,
    /// `plain` (by position or by name), `rest` (all further positional ones), `named` (all further named ones) or
    /// `name_only`.
    kind: &'static str,
    required: bool,
    default: Value,
}

/// A page of functions, ordered by name.
#[derive(Serialize, JsonSchema)]
pub struct FunctionPage {
    functions: Vec<FunctionInfo>,
    /// Pass it as `after` for the next page; `null` on the last page.
    next: Option<String>,
}

/// The documentation never changes and is slow to generate.
static FUNCTION_LIST: LazyLock<Vec<FunctionInfo>> = LazyLock::new(|| sorted(FUNCTIONS));

static STATE_LIST: LazyLock<Vec<FunctionInfo>> = LazyLock::new(|| sorted(STATES));

fn sorted(descriptions: &[Description]) -> Vec<FunctionInfo> {
    let mut all: Vec<FunctionInfo> = descriptions.iter().map(function).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

pub async fn list(call: ApiCall<Empty, FunctionQuery, Empty>) -> Result<ApiReply<FunctionPage>, ApiError> {
    Ok(ApiReply::new(page(&FUNCTION_LIST, &call.query)))
}

pub async fn list_states(call: ApiCall<Empty, FunctionQuery, Empty>) -> Result<ApiReply<FunctionPage>, ApiError> {
    Ok(ApiReply::new(page(&STATE_LIST, &call.query)))
}

pub async fn one(call: ApiCall<NamePath, Empty, Empty>) -> Result<ApiReply<FunctionInfo>, ApiError> {
    find(&FUNCTION_LIST, &call.path.name)
}

pub async fn one_state(call: ApiCall<NamePath, Empty, Empty>) -> Result<ApiReply<FunctionInfo>, ApiError> {
    find(&STATE_LIST, &call.path.name)
}

fn page(all: &[FunctionInfo], filter: &FunctionQuery) -> FunctionPage {
    let pattern = filter.name.as_deref().map(Glob::new);
    let words: Vec<String> =
        filter.search.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase).collect();
    let mut fitting = all.iter().filter(|function| {
        let text = || format!("{} {}", function.name, function.text).to_lowercase();
        pattern.as_ref().is_none_or(|pattern| pattern.matches(&function.name))
            && filter.after.as_ref().is_none_or(|after| function.name > *after)
            && (words.is_empty() || words.iter().all(|word| text().contains(word)))
    });
    let short = |function: &FunctionInfo| FunctionInfo { schema: None, ..function.clone() };
    let functions: Vec<FunctionInfo> = fitting.by_ref().take(filter.limit).map(short).collect();
    let next = if fitting.next().is_some() { functions.last().map(|last| last.name.clone()) } else { None };
    FunctionPage { functions, next }
}

fn find(all: &[FunctionInfo], name: &str) -> Result<ApiReply<FunctionInfo>, ApiError> {
    let mut known = all.iter();
    match known.find(|function| function.name == name || function.aliases.iter().any(|alias| alias == name)) {
        Some(function) => Ok(ApiReply::new(function.clone())),
        None => {
            let hint = nearest::hint(name, all.iter().map(|function| function.name.as_str()));
            Err(ApiError::not_found(format!("unknown name{hint}")))
        }
    }
}

fn function(doc: &Description) -> FunctionInfo {
    let argument = |argument: &rocksalt_catalog::Argument| ArgumentInfo {
        name: argument.name.to_owned(),
        text: argument.text(),
        kind: match doc.kind(argument) {
            ArgumentKind::Plain => "plain",
            ArgumentKind::Rest => "rest",
            ArgumentKind::Named => "named",
            ArgumentKind::NameOnly => "name_only",
        },
        required: argument.default.is_none(),
        default: argument.default().unwrap_or_default(),
    };
    FunctionInfo {
        name: doc.name.to_owned(),
        aliases: doc.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        text: doc.doc.to_owned(),
        arguments: doc.arguments.iter().map(argument).collect(),
        schema: Some(docs::schema(doc)),
    }
}
