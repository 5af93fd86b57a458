//! [`Events`]: a stream of the daemon's events.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use rocksalt_core::record::{EventId, LoggedEvent};
use rocksalt_core::{Event, Map, Value};

use crate::client::ApiRequest;
use crate::sse::{SseMessage, SseParser};
use crate::{Client, Error};

/// The daemon sends at least a keep-alive every 15 seconds; after this long without one the connection is dead.
const MAX_SILENCE: Duration = Duration::from_secs(45);

/// How often to reconnect before giving up; the pauses grow up to five seconds.
const MAX_RECONNECTS: u32 = 40;

/// A stream of events, which reconnects and resumes after a broken connection.
pub struct Events {
    client: Client,
    after: Option<EventId>,
    tags: Vec<String>,
    connected: ResumingStream,
}

/// An item of [`Events`].
#[derive(Clone, Debug, PartialEq)]
pub enum EventNotice {
    /// An event. Its id is 0 if it is not stored, like the progress of runs.
    Event(LoggedEvent),
    /// Events before `first` were requested but are no longer stored.
    Gap { first: EventId },
}

/// A page of stored events.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    pub events: Vec<LoggedEvent>,
    /// Pass it as `after` for the next page.
    pub next: EventId,
    /// The newest event of the log. The end is reached when `next` is not below it.
    pub newest: EventId,
}

impl Client {
    /// Streams the events after `after` and then new ones; without `after` only new ones. Only tags that match one of
    /// the patterns, or all if there is none.
    pub fn events(&self, after: Option<EventId>, tags: &[String]) -> Events {
        Events { client: self.clone(), after, tags: tags.to_vec(), connected: ResumingStream::default() }
    }

    /// Lists up to `limit` stored events after `after`, oldest first; without `after` the newest ones.
    pub async fn logged(&self, after: Option<EventId>, tags: &[String], limit: usize) -> Result<EventPage, Error> {
        let request = ApiRequest::get("/events").query("limit", limit).query_opt("after", after);
        let request = tags.iter().fold(request, |request, tag| request.query("tag", tag));
        let (events, next, newest) = self.send_cbor(request).await?;
        Ok(EventPage { events, next, newest })
    }

    /// Adds an event to the log.
    pub async fn fire(&self, event: &Event) -> Result<EventId, Error> {
        let mut body = Map::new();
        body.insert("tag", event.tag.as_str());
        body.insert("data", event.data.clone());
        let reply = self.send_json(ApiRequest::post("/events", &body.into())).await?;
        let id = reply.walk("id", ":").and_then(Value::as_i64).and_then(|id| EventId::try_from(id).ok());
        id.ok_or_else(|| self.unexpected_response("the event has no id"))
    }
}

impl Events {
    /// Waits for the next event.
    pub async fn next(&mut self) -> Result<EventNotice, Error> {
        let (after, tags) = (self.after, &self.tags);
        let request = || {
            let request = ApiRequest::get("/events/stream").query("encoding", "cbor").query_opt("after", after);
            tags.iter().fold(request, |request, tag| request.query("tag", tag))
        };
        loop {
            let message = self.connected.next(&self.client, request).await?;
            match message.event.as_str() {
                "event" => {
                    let unexpected_response = |error: String| self.client.unexpected_response(&error);
                    let bytes =
                        STANDARD.decode(&message.data).map_err(|error| unexpected_response(error.to_string()))?;
                    return Ok(EventNotice::Event(
                        minicbor::decode(&bytes).map_err(|error| unexpected_response(error.to_string()))?,
                    ));
                }
                "gap" => {
                    let first = message.data.trim().parse();
                    return Ok(EventNotice::Gap {
                        first: first.map_err(|_| self.client.unexpected_response("a gap without a number"))?,
                    });
                }
                _ => {}
            }
        }
    }
}

/// A server-sent event stream that reconnects and resumes after the last event it got.
#[derive(Default)]
pub(crate) struct ResumingStream {
    body: Option<Incoming>,
    parser: SseParser,
    waiting: VecDeque<SseMessage>,
    /// The id of the last event, sent as `Last-Event-ID` on reconnecting.
    last: Option<String>,
    /// Whether the daemon has answered at least once.
    opened: bool,
    failures: u32,
}

impl ResumingStream {
    /// The next event of the stream; connects if there is no connection.
    pub async fn next<'a>(
        &mut self,
        client: &Client,
        request: impl Fn() -> ApiRequest<'a>,
    ) -> Result<SseMessage, Error> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                if message.id.is_some() {
                    self.last.clone_from(&message.id);
                }
                self.failures = 0;
                self.opened = true;
                return Ok(message);
            }
            if let Err(error) = self.read(client, &request).await {
                self.body = None;
                self.parser = SseParser::default();
                // If the first connection fails there is no daemon: don't retry.
                let again = error.is_transient() && self.opened && self.failures < MAX_RECONNECTS;
                if !again {
                    return Err(error);
                }
                self.failures += 1;
                let pause = 50_u64 << self.failures.min(7);
                tokio::time::sleep(Duration::from_millis(pause.min(5000))).await;
            }
        }
    }

    async fn read<'a>(&mut self, client: &Client, request: &impl Fn() -> ApiRequest<'a>) -> Result<(), Error> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                let request = ApiRequest { last_event: self.last.clone(), ..request() };
                none.insert(client.stream(request).await?.into_body())
            }
        };
        let silence = |_| Error::Timeout { to: client.address(), seconds: MAX_SILENCE.as_secs() };
        match tokio::time::timeout(MAX_SILENCE, body.frame()).await.map_err(silence)? {
            Some(Ok(frame)) => {
                let bytes = frame.into_data().unwrap_or_default();
                let messages = self
                    .parser
                    .push(&bytes)
                    .map_err(|_| client.unexpected_response("an event is longer than allowed"))?;
                self.waiting.extend(messages);
                Ok(())
            }
            Some(Err(error)) => Err(client.broken(error)),
            None => Err(client.broken("the daemon ended the stream")),
        }
    }
}
