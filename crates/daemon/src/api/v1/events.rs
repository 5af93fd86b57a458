//! Events: pages of the log, and the live stream.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocksalt_controller::ledger::{Follower, Heard};
use rocksalt_core::pattern::glob::Glob;
use rocksalt_core::record::{EventId, LoggedEvent};
use rocksalt_core::request::Request;
use rocksalt_core::value::to_value;
use rocksalt_core::{Map, json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::follow::Encoding;
use super::reply::{self, ApiReply};
use super::stream::{self, EventSource, format_event};
use super::views::EventView;
use crate::api::event_texts::EventTexts;
use crate::requests::{RequestResult, StandingRight};

/// The most events that are scanned for one page.
const MAX_SCANNED: u64 = 20_000;

/// Selects events.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    /// Events after this id, oldest first; without it the newest ones.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    after: Option<u64>,
    /// Globs for tags; one must match.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    tag: Vec<String>,
    #[serde(default = "super::query::default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
}

impl ApiInput for EventQuery {}

/// A page of events, in order.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventPage")]
pub struct EventList {
    events: Vec<EventView>,
    /// Pass it as `after` for the next page.
    next: u64,
    /// The id of the newest event of the log. The end is reached when `next` is not below it.
    newest: u64,
    /// Events before the first of these were requested but are no longer stored.
    gap: bool,
}

pub async fn page(call: ApiCall<Empty, EventQuery, Empty>) -> Result<ApiReply<EventList>, ApiError> {
    let EventQuery { after, tag, limit } = &call.query;
    let newest = call.api.requests.ledger().last_event();
    // Without tags the newest page is found by its ids; with tags it must be searched.
    let first = match (after, tag.is_empty()) {
        (Some(after), _) => (*after).min(newest),
        (None, true) => newest.saturating_sub(*limit as u64),
        (None, false) => newest.saturating_sub(MAX_SCANNED),
    };
    let (mut follower, tags, _) = follow_events(&call, Some(first), tag).await?;
    let (mut events, mut next, mut gap) = (VecDeque::new(), first, false);
    while next < newest && next < first.saturating_add(MAX_SCANNED) && (after.is_none() || events.len() < *limit) {
        match follower.next().await.map_err(crate::requests::Refusal::from)? {
            Heard::Gap { first } => {
                gap = after.is_some();
                next = first - 1;
            }
            Heard::Hidden(id) => next = next.max(id),
            Heard::Event(event) if event.id == 0 => {}
            Heard::Event(event) => {
                next = event.id;
                if matches(&tags, &event) {
                    events.push_back(event);
                }
                if events.len() > *limit {
                    events.pop_front();
                }
            }
        }
    }
    // An event that was stored meanwhile is for the next page.
    let newest = newest.max(next);
    let shapes = events.iter().map(|event| EventView::of(event)).collect();
    let records = || (events.iter().map(|event| LoggedEvent::clone(event)).collect::<Vec<_>>(), next, newest);
    Ok(ApiReply::new(EventList { events: shapes, next, newest, gap }).or_records(call.cbor, records))
}

/// Options of the event stream. After a broken connection the header `Last-Event-ID` says where to resume.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenQuery {
    /// Stored events after this id, then new ones; without it only new ones.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    after: Option<u64>,
    /// Globs for tags; one must match.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    tag: Vec<String>,
    /// `json`, or `cbor` for records in base64.
    #[serde(default)]
    encoding: Encoding,
}

impl ApiInput for ListenQuery {}

pub async fn listen(call: ApiCall<Empty, ListenQuery, Empty>) -> Result<reply::StreamReply, ApiError> {
    let header = call.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let header = match header.filter(|text| !text.is_empty()).map(str::parse::<EventId>) {
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => return Err(ApiError::invalid("'Last-Event-ID' must be a whole number")),
        None => None,
    };
    let newest = call.api.requests.ledger().last_event();
    let after = header.or(call.query.after);
    // The id is from another log, so events may be missing.
    let foreign_id = after.is_some_and(|after| after > newest);
    let start = after.unwrap_or(newest).min(newest);
    let (follower, tags, right) = follow_events(&call, Some(start), &call.query.tag).await?;
    let mut first = VecDeque::from([format_event(Some(&start.to_string()), "open", "{}")]);
    if foreign_id {
        first.push_back(format_event(None, "gap", &(newest + 1).to_string()));
    }
    let encoding = call.query.encoding;
    reply::StreamReply::new(&call, Some(right), EventListener { follower, tags, encoding, first, ended: false })
}

/// An event to fire.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fire")]
pub struct FireEvent {
    /// Must not be one of Salt's own tags.
    #[schemars(length(min = 1, max = 512))]
    tag: String,
    #[serde(default)]
    data: Map,
}

impl ApiInput for FireEvent {}

/// A stored event.
#[derive(Serialize, JsonSchema)]
pub struct Fired {
    id: u64,
}

pub async fn fire(call: ApiCall<Empty, Empty, FireEvent>) -> Result<ApiReply<Fired, 201>, ApiError> {
    let event = rocksalt_core::Event { tag: call.body.tag.clone(), data: call.body.data.clone() };
    match call.answer(Request::Fire(event)).await? {
        RequestResult::Logged(id) => Ok(ApiReply::new(Fired { id })),
        _ => Err(ApiError::internal()),
    }
}

async fn follow_events<Q>(
    call: &ApiCall<Empty, Q, Empty>,
    after: Option<EventId>,
    tags: &[String],
) -> Result<(Box<Follower>, Vec<Glob>, Box<StandingRight>), ApiError> {
    match call.answer(Request::Events { after, tags: tags.to_vec() }).await? {
        RequestResult::Events { follower, tags, right } => {
            Ok((follower, tags.iter().map(|tag| Glob::new(tag)).collect(), right))
        }
        _ => Err(ApiError::internal()),
    }
}

fn matches(tags: &[Glob], event: &LoggedEvent) -> bool {
    tags.is_empty() || tags.iter().any(|tag| tag.matches(&event.event.tag))
}

struct EventListener {
    follower: Box<Follower>,
    tags: Vec<Glob>,
    encoding: Encoding,
    first: VecDeque<Bytes>,
    ended: bool,
}

impl EventSource for EventListener {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        while !self.ended {
            match self.follower.next().await {
                Ok(Heard::Event(event)) if matches(&self.tags, &event) => return Some(self.format_event(&event)),
                Ok(Heard::Event(_) | Heard::Hidden(_)) => {}
                Ok(Heard::Gap { first }) => return Some(format_event(None, "gap", &first.to_string())),
                // The client reconnects with the id of the last event.
                Err(error) => {
                    self.ended = true;
                    return Some(format_event(None, "trouble", &json::compact(&error.to_string().into())));
                }
            }
        }
        None
    }
}

impl EventListener {
    fn format_event(&self, event: &Arc<LoggedEvent>) -> Bytes {
        match self.encoding {
            Encoding::Json => JSON.text(event),
            Encoding::Cbor => CBOR.text(event),
        }
    }
}

/// Serialized once for all listeners.
static JSON: LazyLock<EventTexts> = LazyLock::new(|| {
    EventTexts::new(|event| text(event, &json::compact(&to_value(&EventView::of(event)).unwrap_or_default())))
});
static CBOR: LazyLock<EventTexts> = LazyLock::new(|| {
    EventTexts::new(|event| text(event, &STANDARD.encode(minicbor::to_vec(event).unwrap_or_default())))
});

fn text(event: &LoggedEvent, data: &str) -> String {
    // An event that isn't stored has no id to resume from.
    let id = (event.id > 0).then(|| event.id.to_string());
    stream::text(id.as_deref(), "event", data)
}
