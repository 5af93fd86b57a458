//! The targets that the asker may see.

use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::request::Request;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;
use crate::requests::Answer;

/// Which targets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// A shell pattern for ids.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    id: Option<String>,
    /// Only those that are up, or down.
    #[serde(default)]
    up: Option<bool>,
    /// With their grains.
    #[serde(default)]
    grains: bool,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// Those after this id: `next` of the page before.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    after: Option<String>,
}

impl Input for Filter {}

fn hundred() -> usize {
    100
}

/// A target's id, in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetPath {
    #[schemars(length(min = 1, max = 1024))]
    id: String,
}

impl Input for TargetPath {}

/// A target, and what is known of it.
#[derive(Serialize, JsonSchema)]
pub struct Target {
    id: String,
    /// Its name or address.
    host: String,
    port: Option<u16>,
    user: Option<String>,
    transport: String,
    /// `null`: nobody has tried yet.
    up: Option<bool>,
    /// Seconds since 1970: since when it is up, or down.
    since: Option<f64>,
    last_seen: Option<f64>,
    /// Why it is down.
    why: Option<String>,
    /// As they were gathered last; left out where they were not asked for, empty if they never were gathered or the
    /// asker may not have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    grains: Option<Map>,
}

/// Some of the targets, by their ids' order.
#[derive(Serialize, JsonSchema)]
pub struct TargetPage {
    targets: Vec<Target>,
    /// Give it as `after` for the next page; `null` if this was the last.
    next: Option<String>,
}

pub async fn list(asked: Asked<Nothing, Filter, Nothing>) -> Result<Reply<TargetPage>, Fault> {
    let known = known(&asked).await?;
    let filter = asked.query;
    let pattern = filter.id.as_deref().map(Glob::new);
    let mut fitting = known
        .iter()
        .filter_map(Value::as_map)
        .map(|known| target(known, filter.grains))
        .filter(|target| pattern.as_ref().is_none_or(|pattern| pattern.matches(&target.id)))
        .filter(|target| filter.up.is_none_or(|up| target.up == Some(up)))
        .filter(|target| filter.after.as_ref().is_none_or(|after| target.id > *after));
    let targets: Vec<Target> = fitting.by_ref().take(filter.limit).collect();
    let next = if fitting.next().is_some() { targets.last().map(|last| last.id.clone()) } else { None };
    Ok(Reply::new(TargetPage { targets, next }))
}

pub async fn one(asked: Asked<TargetPath, Nothing, Nothing>) -> Result<Reply<Target>, Fault> {
    let known = known(&asked).await?;
    let mut known = known.iter().filter_map(Value::as_map);
    match known.find(|known| known.get("id").and_then(Value::as_str) == Some(&asked.path.id)) {
        Some(known) => Ok(Reply::new(target(known, true))),
        None => Err(Fault::not_found("there is no such target").hint("GET /v1/targets says who there is")),
    }
}

/// By their ids' order.
async fn known<P, Q, B>(asked: &Asked<P, Q, B>) -> Result<Vec<Value>, Fault> {
    match asked.answer(Request::Targets).await? {
        Answer::Value(Value::List(known)) => Ok(known),
        _ => Err(Fault::internal()),
    }
}

fn target(known: &Map, grains: bool) -> Target {
    let text = |key: &str| known.get(key).and_then(Value::as_str).map(str::to_owned);
    let time = |key: &str| match known.get(key) {
        Some(Value::Float(seconds)) => Some(*seconds),
        Some(Value::Int(seconds)) => Some(*seconds as f64),
        _ => None,
    };
    Target {
        id: text("id").unwrap_or_default(),
        host: text("host").unwrap_or_default(),
        port: known.get("port").and_then(Value::as_i64).and_then(|port| port.try_into().ok()),
        user: text("user"),
        transport: text("transport").unwrap_or_default(),
        up: known.get("up").and_then(Value::as_bool),
        since: time("since"),
        last_seen: time("last_seen"),
        why: text("why"),
        grains: grains.then(|| known.get("grains").and_then(Value::as_map).cloned().unwrap_or_default()),
    }
}
