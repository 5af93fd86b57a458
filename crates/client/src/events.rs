//! [`Events`]: the daemon's events, as they come.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use rocksalt_core::record::{EventId, LoggedEvent};
use rocksalt_core::{Event, Map, Value};

use crate::client::Ask;
use crate::sse::{Message, Parser};
use crate::{Client, Error};

/// The daemon says something every 15 seconds, if only that it is there.
const SILENCE: Duration = Duration::from_secs(45);

/// How often it is tried to get back to a daemon that is away; the pauses grow up to five seconds.
const TRIES: u32 = 40;

/// Goes on where it was after a broken connection.
pub struct Events {
    client: Client,
    after: Option<EventId>,
    tags: Vec<String>,
    connected: Connected,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Its id is 0 if it is not kept: the progress of runs.
    Event(LoggedEvent),
    /// The events before this one are too old, and forgotten.
    Gap { first: EventId },
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    pub events: Vec<LoggedEvent>,
    /// Go on after this one.
    pub next: EventId,
    /// The newest event of the log: all has been seen once `next` is not below it.
    pub newest: EventId,
}

impl Client {
    /// The events after one of them, then those to come; only those to come without it. Those whose tags fit one of the
    /// patterns, or all if there is none.
    pub fn events(&self, after: Option<EventId>, tags: &[String]) -> Events {
        Events { client: self.clone(), after, tags: tags.to_vec(), connected: Connected::default() }
    }

    /// Up to so many of the events that are kept, those after one of them, the oldest first; the newest without it.
    pub async fn logged(&self, after: Option<EventId>, tags: &[String], limit: usize) -> Result<EventPage, Error> {
        let ask = Ask::get("/events").query("limit", limit).maybe("after", after);
        let ask = tags.iter().fold(ask, |ask, tag| ask.query("tag", tag));
        let (events, next, newest) = self.record(ask).await?;
        Ok(EventPage { events, next, newest })
    }

    /// Puts an event into the log.
    pub async fn fire(&self, event: &Event) -> Result<EventId, Error> {
        let mut body = Map::new();
        body.insert("tag", event.tag.as_str());
        body.insert("data", event.data.clone());
        let said = self.value(Ask::post("/events", &body.into())).await?;
        let id = said.walk("id", ":").and_then(Value::as_i64).and_then(|id| EventId::try_from(id).ok());
        id.ok_or_else(|| self.nonsense("the event has no id"))
    }
}

impl Events {
    /// Waits for the next one.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        let (after, tags) = (self.after, &self.tags);
        let ask = || {
            let ask = Ask::get("/events/stream").query("encoding", "cbor").maybe("after", after);
            tags.iter().fold(ask, |ask, tag| ask.query("tag", tag))
        };
        loop {
            let message = self.connected.next(&self.client, ask).await?;
            match message.event.as_str() {
                "event" => {
                    let nonsense = |error: String| self.client.nonsense(&error);
                    let bytes = STANDARD.decode(&message.data).map_err(|error| nonsense(error.to_string()))?;
                    return Ok(Heard::Event(minicbor::decode(&bytes).map_err(|error| nonsense(error.to_string()))?));
                }
                "gap" => {
                    let first = message.data.trim().parse();
                    return Ok(Heard::Gap {
                        first: first.map_err(|_| self.client.nonsense("a gap without a number"))?,
                    });
                }
                _ => {}
            }
        }
    }
}

/// A stream that comes back.
#[derive(Default)]
pub(crate) struct Connected {
    body: Option<Incoming>,
    parser: Parser,
    waiting: VecDeque<Message>,
    /// The id of the last event: from there it goes on.
    last: Option<String>,
    /// There was a daemon that answered.
    opened: bool,
    failures: u32,
}

impl Connected {
    /// The next event of the stream; a new connection is made where there is none.
    pub async fn next<'a>(&mut self, client: &Client, ask: impl Fn() -> Ask<'a>) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                if message.id.is_some() {
                    self.last.clone_from(&message.id);
                }
                self.failures = 0;
                self.opened = true;
                return Ok(message);
            }
            if let Err(error) = self.read(client, &ask).await {
                self.body = None;
                self.parser = Parser::default();
                // The first connection tells whether there is a daemon at all.
                let again = error.passing() && self.opened && self.failures < TRIES;
                if !again {
                    return Err(error);
                }
                self.failures += 1;
                let pause = 50_u64 << self.failures.min(7);
                tokio::time::sleep(Duration::from_millis(pause.min(5000))).await;
            }
        }
    }

    async fn read<'a>(&mut self, client: &Client, ask: &impl Fn() -> Ask<'a>) -> Result<(), Error> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                let ask = Ask { last_event: self.last.clone(), ..ask() };
                none.insert(client.stream(ask).await?.into_body())
            }
        };
        let silence = |_| Error::Timeout { to: client.address(), seconds: SILENCE.as_secs() };
        match tokio::time::timeout(SILENCE, body.frame()).await.map_err(silence)? {
            Some(Ok(frame)) => {
                let bytes = frame.into_data().unwrap_or_default();
                let messages = self.parser.push(&bytes).map_err(|_| client.nonsense("an event without an end"))?;
                self.waiting.extend(messages);
                Ok(())
            }
            Some(Err(error)) => Err(client.broken(error)),
            None => Err(client.broken("it ended in the middle of a stream")),
        }
    }
}
