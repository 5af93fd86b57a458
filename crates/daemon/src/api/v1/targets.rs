//! Lists targets.

use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::request::Request;
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::reply::ApiReply;
use crate::requests::RequestResult;

/// Selects targets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetQuery {
    /// A glob for ids.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    id: Option<String>,
    /// Only targets that are up, or down.
    #[serde(default)]
    up: Option<bool>,
    /// Include their grains.
    #[serde(default)]
    grains: bool,
    #[serde(default = "super::query::default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
    /// Ids after this one: `next` of the previous page.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    after: Option<String>,
}

impl ApiInput for TargetQuery {}

/// A target id in the path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetPath {
    #[schemars(length(min = 1, max = 1024))]
    id: String,
}

impl ApiInput for TargetPath {}

/// A target and its state.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Target")]
pub struct TargetView {
    id: String,
    /// Name or address.
    host: String,
    port: Option<u16>,
    user: Option<String>,
    transport: String,
    /// `null` if no connection was tried yet.
    up: Option<bool>,
    /// Since when it is up or down, in seconds since the Unix epoch.
    since: Option<f64>,
    last_seen: Option<f64>,
    /// Why it is down.
    why: Option<String>,
    /// Cached grains; left out if not requested, empty if there are none or the caller may not read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    grains: Option<Map>,
}

/// A page of targets, ordered by id.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TargetPage")]
pub struct TargetList {
    targets: Vec<TargetView>,
    /// Pass it as `after` for the next page; `null` on the last page.
    next: Option<String>,
}

pub async fn list(call: ApiCall<Empty, TargetQuery, Empty>) -> Result<ApiReply<TargetList>, ApiError> {
    let known = all_targets(&call).await?;
    let filter = call.query;
    let pattern = filter.id.as_deref().map(Glob::new);
    let mut fitting = known
        .iter()
        .filter_map(Value::as_map)
        .map(|known| target(known, filter.grains))
        .filter(|target| pattern.as_ref().is_none_or(|pattern| pattern.matches(&target.id)))
        .filter(|target| filter.up.is_none_or(|up| target.up == Some(up)))
        .filter(|target| filter.after.as_ref().is_none_or(|after| target.id > *after));
    let targets: Vec<TargetView> = fitting.by_ref().take(filter.limit).collect();
    let next = if fitting.next().is_some() { targets.last().map(|last| last.id.clone()) } else { None };
    Ok(ApiReply::new(TargetList { targets, next }))
}

pub async fn one(call: ApiCall<TargetPath, Empty, Empty>) -> Result<ApiReply<TargetView>, ApiError> {
    let known = all_targets(&call).await?;
    let mut known = known.iter().filter_map(Value::as_map);
    match known.find(|known| known.get("id").and_then(Value::as_str) == Some(&call.path.id)) {
        Some(known) => Ok(ApiReply::new(target(known, true))),
        None => Err(ApiError::not_found("there is no such target").hint("GET /v1/targets lists all targets")),
    }
}

/// All targets, ordered by id.
async fn all_targets<P, Q, B>(call: &ApiCall<P, Q, B>) -> Result<Vec<Value>, ApiError> {
    match call.answer(Request::Targets).await? {
        RequestResult::Value(Value::List(known)) => Ok(known),
        _ => Err(ApiError::internal()),
    }
}

fn target(known: &Map, grains: bool) -> TargetView {
    let text = |key: &str| known.get(key).and_then(Value::as_str).map(str::to_owned);
    let time = |key: &str| match known.get(key) {
        Some(Value::Float(seconds)) => Some(*seconds),
        Some(Value::Int(seconds)) => Some(*seconds as f64),
        _ => None,
    };
    TargetView {
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
