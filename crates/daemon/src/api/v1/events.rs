//! Events: those of the log by pages, and as they come.

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

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::follow::Encoding;
use super::reply::{self, Reply};
use super::shapes::Event;
use super::stream::{self, Source, written};
use crate::api::event_texts::EventTexts;
use crate::requests::Answer;

/// So many of the log are looked at for one page.
const LOOKED_AT: u64 = 20_000;

/// Which events.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Those after this id, the oldest first; the newest of all without it.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    after: Option<u64>,
    /// Shell patterns for tags; any of them.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    tag: Vec<String>,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
}

impl Input for Page {}

fn hundred() -> usize {
    100
}

/// Some events of the log, in their order.
#[derive(Serialize, JsonSchema)]
pub struct EventPage {
    events: Vec<Event>,
    /// Give it as `after` for what comes next.
    next: u64,
    /// The id of the newest event of the log: all has been seen once `next` is not below it.
    newest: u64,
    /// Some before the first of these are too old, and forgotten.
    gap: bool,
}

pub async fn page(asked: Asked<Nothing, Page, Nothing>) -> Result<Reply<EventPage>, Fault> {
    let Page { after, tag, limit } = &asked.query;
    let newest = asked.api.requests.ledger().last_event();
    // Without tags those before the newest are known by their number; with some they must be looked for.
    let first = match (after, tag.is_empty()) {
        (Some(after), _) => (*after).min(newest),
        (None, true) => newest.saturating_sub(*limit as u64),
        (None, false) => newest.saturating_sub(LOOKED_AT),
    };
    let (mut follower, tags) = heard(&asked, Some(first), tag).await?;
    let (mut events, mut next, mut gap) = (VecDeque::new(), first, false);
    while next < newest && next < first.saturating_add(LOOKED_AT) && (after.is_none() || events.len() < *limit) {
        match follower.next().await.map_err(crate::requests::Refusal::from)? {
            Heard::Gap { first } => {
                gap = after.is_some();
                next = first - 1;
            }
            Heard::Event(event) if event.id == 0 => {}
            Heard::Event(event) => {
                next = event.id;
                if fits(&tags, &event) {
                    events.push_back(event);
                }
                if events.len() > *limit {
                    events.pop_front();
                }
            }
        }
    }
    // One that was written meanwhile is for the next page.
    let newest = newest.max(next);
    let shapes = events.iter().map(|event| Event::of(event)).collect();
    let records = || (events.iter().map(|event| LoggedEvent::clone(event)).collect::<Vec<_>>(), next, newest);
    Ok(Reply::new(EventPage { events: shapes, next, newest, gap }).or_records(asked.cbor, records))
}

/// How events are listened to. After a broken connection the header `Last-Event-ID` says where to go on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Those after this id, then those to come; only those to come without it.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    after: Option<u64>,
    /// Shell patterns for tags; any of them.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 512)))]
    tag: Vec<String>,
    /// `json`; `cbor` gives records, in base64.
    #[serde(default)]
    encoding: Encoding,
}

impl Input for How {}

pub async fn listen(asked: Asked<Nothing, How, Nothing>) -> Result<reply::Stream, Fault> {
    let header = asked.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let header = match header.filter(|text| !text.is_empty()).map(str::parse::<EventId>) {
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => return Err(Fault::invalid("'Last-Event-ID' must be a whole number")),
        None => None,
    };
    let newest = asked.api.requests.ledger().last_event();
    let after = header.or(asked.query.after);
    // Ids of another log: what was between can't be known.
    let strange = after.is_some_and(|after| after > newest);
    let start = after.unwrap_or(newest).min(newest);
    let (follower, tags) = heard(&asked, Some(start), &asked.query.tag).await?;
    let mut first = VecDeque::from([written(Some(&start.to_string()), "open", "{}")]);
    if strange {
        first.push_back(written(None, "gap", &(newest + 1).to_string()));
    }
    let encoding = asked.query.encoding;
    reply::Stream::new(&asked, Listened { follower, tags, encoding, first, ended: false })
}

/// An event of the asker's own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fire {
    /// Not one of Salt's own.
    #[schemars(length(min = 1, max = 512))]
    tag: String,
    #[serde(default)]
    data: Map,
}

impl Input for Fire {}

/// An event that is stored.
#[derive(Serialize, JsonSchema)]
pub struct Fired {
    id: u64,
}

pub async fn fire(asked: Asked<Nothing, Nothing, Fire>) -> Result<Reply<Fired, 201>, Fault> {
    let event = rocksalt_core::Event { tag: asked.body.tag.clone(), data: asked.body.data.clone() };
    match asked.answer(Request::Fire(event)).await? {
        Answer::Logged(id) => Ok(Reply::new(Fired { id })),
        _ => Err(Fault::internal()),
    }
}

async fn heard<Q>(
    asked: &Asked<Nothing, Q, Nothing>,
    after: Option<EventId>,
    tags: &[String],
) -> Result<(Box<Follower>, Vec<Glob>), Fault> {
    match asked.answer(Request::Events { after, tags: tags.to_vec() }).await? {
        Answer::Events { follower, tags } => Ok((follower, tags.iter().map(|tag| Glob::new(tag)).collect())),
        _ => Err(Fault::internal()),
    }
}

fn fits(tags: &[Glob], event: &LoggedEvent) -> bool {
    tags.is_empty() || tags.iter().any(|tag| tag.matches(&event.event.tag))
}

struct Listened {
    follower: Box<Follower>,
    tags: Vec<Glob>,
    encoding: Encoding,
    first: VecDeque<Bytes>,
    ended: bool,
}

impl Source for Listened {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        while !self.ended {
            match self.follower.next().await {
                Ok(Heard::Event(event)) if fits(&self.tags, &event) => return Some(self.written(&event)),
                Ok(Heard::Event(_)) => {}
                Ok(Heard::Gap { first }) => return Some(written(None, "gap", &first.to_string())),
                // They come back with the id of the last one.
                Err(error) => {
                    self.ended = true;
                    return Some(written(None, "trouble", &json::compact(&error.to_string().into())));
                }
            }
        }
        None
    }
}

impl Listened {
    fn written(&self, event: &Arc<LoggedEvent>) -> Bytes {
        match self.encoding {
            Encoding::Json => JSON.text(event),
            Encoding::Cbor => CBOR.text(event),
        }
    }
}

/// Written once for all who listen.
static JSON: LazyLock<EventTexts> = LazyLock::new(|| {
    EventTexts::new(|event| text(event, &json::compact(&to_value(&Event::of(event)).unwrap_or_default())))
});
static CBOR: LazyLock<EventTexts> = LazyLock::new(|| {
    EventTexts::new(|event| text(event, &STANDARD.encode(minicbor::to_vec(event).unwrap_or_default())))
});

fn text(event: &LoggedEvent, data: &str) -> String {
    // What is only told has no place in the log to come back to.
    let id = (event.id > 0).then(|| event.id.to_string());
    stream::text(id.as_deref(), "event", data)
}
