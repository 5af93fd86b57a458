//! The targets that the asker may see.

use rocksalt_core::Map;
use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::request::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;
use crate::desk::{Answer, Known};
use crate::presence::State;

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
    /// As they were gathered last; left out where they were not asked for, `null` if they never were gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    grains: Option<Option<Map>>,
}

/// Some of the targets, by their ids' order.
#[derive(Serialize, JsonSchema)]
pub struct TargetPage {
    targets: Vec<Target>,
    /// Give it as `after` for the next page; `null` if this was the last.
    next: Option<String>,
}

pub async fn list(asked: Asked<Nothing, Filter, Nothing>) -> Result<Reply<TargetPage>, Fault> {
    let Answer::Targets(known) = asked.answer(Request::Targets).await? else { return Err(Fault::internal()) };
    let filter = asked.query;
    let pattern = filter.id.as_deref().map(Glob::new);
    let mut known: Vec<Known> = known
        .into_iter()
        .filter(|known| pattern.as_ref().is_none_or(|pattern| pattern.matches(&known.id)))
        .filter(|known| filter.up.is_none_or(|up| is_up(known) == Some(up)))
        .filter(|known| filter.after.as_ref().is_none_or(|after| known.id > *after))
        .collect();
    known.sort_by(|a, b| a.id.cmp(&b.id));
    let more = known.len() > filter.limit;
    known.truncate(filter.limit);
    let next = if more { known.last().map(|known| known.id.clone()) } else { None };
    let targets = known.into_iter().map(|known| target(known, filter.grains)).collect();
    Ok(Reply::new(TargetPage { targets, next }))
}

pub async fn one(asked: Asked<TargetPath, Nothing, Nothing>) -> Result<Reply<Target>, Fault> {
    let Answer::Targets(known) = asked.answer(Request::Targets).await? else { return Err(Fault::internal()) };
    match known.into_iter().find(|known| known.id == asked.path.id) {
        Some(known) => Ok(Reply::new(target(known, true))),
        None => Err(Fault::not_found("there is no such target")),
    }
}

fn is_up(known: &Known) -> Option<bool> {
    match known.state {
        State::Up => Some(true),
        State::Down => Some(false),
        State::Unknown => None,
    }
}

fn target(known: Known, grains: bool) -> Target {
    Target {
        up: is_up(&known),
        id: known.id,
        host: known.address,
        port: known.port,
        user: known.user,
        transport: known.transport,
        since: known.since.map(|since| since as f64),
        last_seen: known.last_seen.map(|seen| seen as f64),
        why: known.why,
        grains: grains.then_some(known.grains),
    }
}
