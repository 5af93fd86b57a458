//! What a job does, until it has ended.

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

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::jobs::JobPath;
use super::reply;
use super::shapes::{Job, Return};
use super::stream::{Source, written};
use crate::requests::Answer;

/// How a job is followed. After a broken connection the header `Last-Event-ID` says where to go on; returns that are
/// told again then are the same.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// The id of the last event that was seen, where the header can't be sent.
    #[serde(default)]
    #[schemars(length(max = 64))]
    after: Option<String>,
    /// `json`; `cbor` gives records, in base64.
    #[serde(default)]
    encoding: Encoding,
}

impl Input for How {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Json,
    Cbor,
}

pub async fn follow(asked: Asked<JobPath, How, Nothing>) -> Result<reply::Stream, Fault> {
    let request = Request::WatchJob(asked.path.jid.0);
    let Answer::Watching(mut watcher) = asked.answer(request).await? else { return Err(Fault::internal()) };
    let header = asked.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    if let Some(mark) = header.or(asked.query.after.as_deref()) {
        watcher.resume(mark);
    }
    let encoding = asked.query.encoding;
    reply::Stream::new(&asked, Followed { watcher, encoding, opened: false, ended: false })
}

struct Followed {
    watcher: Box<JobWatcher>,
    encoding: Encoding,
    opened: bool,
    ended: bool,
}

impl Source for Followed {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.opened {
            self.opened = true;
            // At once, so that whoever loses the connection before the first news knows where they were.
            return Some(written(self.watcher.mark().as_deref(), "open", "{}"));
        }
        if self.ended {
            return None;
        }
        let news = match self.watcher.next().await {
            Ok(news) => news?,
            // They come back, and find it as it is then.
            Err(error) => {
                self.ended = true;
                return Some(written(None, "trouble", &json::compact(&error.to_string().into())));
            }
        };
        self.ended = matches!(news, JobUpdate::Ended(_));
        let mark = self.watcher.mark();
        Some(match self.encoding {
            Encoding::Cbor => {
                let bytes = minicbor::to_vec(&news).unwrap_or_default();
                written(mark.as_deref(), "news", &STANDARD.encode(bytes))
            }
            Encoding::Json => {
                let (name, data) = shown(news);
                written(mark.as_deref(), name, &json::compact(&data))
            }
        })
    }
}

/// The name and the data of a piece of news.
fn shown(news: JobUpdate) -> (&'static str, Value) {
    let of = |target: String, pairs: Vec<(&'static str, Value)>| {
        let mut map = Map::new();
        map.insert("target", target);
        pairs.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        Value::Map(map)
    };
    match news {
        JobUpdate::Begun { target } => ("begun", of(target, Vec::new())),
        JobUpdate::Output { target, stream, bytes } => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            ("output", of(target, vec![("stream", name(stream).into()), ("text", text.into())]))
        }
        JobUpdate::Progress { target, bytes } => {
            let said = std::str::from_utf8(&bytes).ok().and_then(|text| json::parse(text).ok());
            ("progress", of(target, vec![("progress", said.unwrap_or_default())]))
        }
        JobUpdate::Note { target, text } => ("note", of(target, vec![("text", text.into())])),
        JobUpdate::Event { target, event } => {
            ("event", of(target, vec![("tag", event.tag.into()), ("data", event.data.into())]))
        }
        JobUpdate::Done(record) => ("return", to_value(&Return::of(&record)).unwrap_or_default()),
        JobUpdate::Ended(job) => ("end", to_value(&Job::of(&job, true)).unwrap_or_default()),
    }
}

fn name(stream: frame::Stream) -> &'static str {
    match stream {
        frame::Stream::Stderr => "stderr",
        _ => "stdout",
    }
}
