//! Follows a job until it ends.

use axum::body::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocksalt_controller::job_watch::JobWatcher;
use rocksalt_core::frame;
use rocksalt_core::job_update::JobUpdate;
use rocksalt_core::request::Request;
use rocksalt_core::value::to_value;
use rocksalt_core::{Map, Value, json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::jobs::JobPath;
use super::reply;
use super::stream::{EventSource, format_event};
use super::views::{JobView, ReturnView};
use crate::requests::RequestResult;

/// Options of following a job. After a broken connection the header `Last-Event-ID` says where to resume; returns may
/// then be repeated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowQuery {
    /// The id of the last event, if the header can't be sent.
    #[serde(default)]
    #[schemars(length(max = 64))]
    after: Option<String>,
    /// `json`, or `cbor` for records in base64.
    #[serde(default)]
    encoding: Encoding,
}

impl ApiInput for FollowQuery {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Json,
    Cbor,
}

pub async fn follow(call: ApiCall<JobPath, FollowQuery, Empty>) -> Result<reply::StreamReply, ApiError> {
    let request = Request::WatchJob(call.path.jid.0);
    let RequestResult::Watching(mut watcher) = call.answer(request).await? else { return Err(ApiError::internal()) };
    let header = call.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    if let Some(mark) = header.or(call.query.after.as_deref()) {
        watcher.resume(mark);
    }
    let encoding = call.query.encoding;
    reply::StreamReply::new(&call, None, JobStream { watcher, encoding, opened: false, ended: false })
}

struct JobStream {
    watcher: Box<JobWatcher>,
    encoding: Encoding,
    opened: bool,
    ended: bool,
}

impl EventSource for JobStream {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.opened {
            self.opened = true;
            // Sent at once, so that a client that loses the connection before the first update can resume.
            return Some(format_event(self.watcher.mark().as_deref(), "open", "{}"));
        }
        if self.ended {
            return None;
        }
        let news = match self.watcher.next().await {
            Ok(news) => news?,
            // The client reconnects and gets the current state.
            Err(error) => {
                self.ended = true;
                return Some(format_event(None, "trouble", &json::compact(&error.to_string().into())));
            }
        };
        self.ended = matches!(news, JobUpdate::Ended(_));
        let mark = self.watcher.mark();
        Some(match self.encoding {
            Encoding::Cbor => {
                let bytes = minicbor::to_vec(&news).unwrap_or_default();
                format_event(mark.as_deref(), "news", &STANDARD.encode(bytes))
            }
            Encoding::Json => {
                let (name, data) = describe(news);
                format_event(mark.as_deref(), name, &json::compact(&data))
            }
        })
    }
}

/// The event name and data of an update.
fn describe(news: JobUpdate) -> (&'static str, Value) {
    let with_target = |target: String, pairs: Vec<(&'static str, Value)>| {
        let mut map = Map::new();
        map.insert("target", target);
        pairs.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        Value::Map(map)
    };
    match news {
        JobUpdate::Begun { target } => ("begun", with_target(target, Vec::new())),
        JobUpdate::Output { target, stream, bytes } => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            ("output", with_target(target, vec![("stream", name(stream).into()), ("text", text.into())]))
        }
        JobUpdate::Progress { target, bytes } => {
            let progress = std::str::from_utf8(&bytes).ok().and_then(|text| json::parse(text).ok());
            ("progress", with_target(target, vec![("progress", progress.unwrap_or_default())]))
        }
        JobUpdate::Note { target, text } => ("note", with_target(target, vec![("text", text.into())])),
        JobUpdate::Event { target, event } => {
            ("event", with_target(target, vec![("tag", event.tag.into()), ("data", event.data.into())]))
        }
        JobUpdate::Warning { target, text, hint } => {
            ("warning", with_target(target, vec![("text", text.into()), ("hint", hint.into())]))
        }
        JobUpdate::Done(record) => ("return", to_value(&ReturnView::of(&record)).unwrap_or_default()),
        JobUpdate::Ended(job) => ("end", to_value(&JobView::of(&job, true)).unwrap_or_default()),
    }
}

fn name(stream: frame::Stream) -> &'static str {
    match stream {
        frame::Stream::Stderr => "stderr",
        _ => "stdout",
    }
}
