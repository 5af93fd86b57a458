//! [`EventStream`]: sends events to one listener, from its own position in the log and at its own pace.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rocksalt_controller::ledger::{Follower, Heard};
use rocksalt_core::pattern::glob;
use rocksalt_core::record::LoggedEvent;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::event_texts::EventTexts;

/// How often the listener's token is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A keep-alive is sent after so many checks without events.
const SILENT_CHECKS: u32 = 3;

/// A listener that accepts nothing for this long is disconnected; it can reconnect and resume.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Pending events are sent together, up to this many bytes.
const MAX_PIECE: usize = 64 << 10;

pub struct EventStream {
    pub follower: Follower,
    /// Globs; all events without any.
    pub tags: Vec<String>,
    pub texts: &'static EventTexts,
    /// Sent first.
    pub greeting: String,
    /// Whether the listener's token is still valid.
    pub valid: Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>,
}

impl EventStream {
    /// The stream as a response body.
    pub fn body(self) -> Body {
        let (sender, receiver) = mpsc::channel::<Bytes>(4);
        tokio::spawn(self.pump(sender));
        let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|piece| (Ok::<Bytes, Infallible>(piece), receiver))
        });
        Body::from_stream(pieces)
    }

    /// Sends events until the receiver is gone.
    pub async fn pump(mut self, to: mpsc::Sender<Bytes>) {
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        checks.tick().await;
        let mut silent = 0;
        if !self.greeting.is_empty() && to.send(std::mem::take(&mut self.greeting).into()).await.is_err() {
            return;
        }
        loop {
            let piece = tokio::select! {
                heard = self.follower.next() => match heard {
                    Ok(heard) => self.gather(heard),
                    // The ledger is closed or the store unavailable: the listener reconnects by itself.
                    Err(_) => return,
                },
                _ = checks.tick() => {
                    if !(self.valid)().await {
                        return;
                    }
                    silent += 1;
                    if silent < SILENT_CHECKS {
                        continue;
                    }
                    Bytes::from_static(b":\n\n")
                }
                () = to.closed() => return,
            };
            if piece.is_empty() {
                continue;
            }
            silent = 0;
            if !matches!(timeout(SEND_TIMEOUT, to.send(piece)).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// Serializes one event and those that are pending.
    fn gather(&mut self, first: Heard) -> Bytes {
        let mut piece = self.serialize(&first);
        let mut more = Vec::new();
        while piece.len() + more.len() < MAX_PIECE {
            let Some(Ok(heard)) = self.follower.next().now_or_never() else { break };
            let next = self.serialize(&heard);
            match piece.is_empty() {
                true => piece = next,
                false => more.extend_from_slice(&next),
            }
        }
        if more.is_empty() {
            return piece;
        }
        [&piece[..], &more[..]].concat().into()
    }

    fn serialize(&self, heard: &Heard) -> Bytes {
        match heard {
            Heard::Event(event) if self.wants(event) => self.texts.text(event),
            Heard::Event(_) | Heard::Hidden(_) => Bytes::new(),
            Heard::Gap { first } => format!(": events before {first} are no longer stored\n\n").into(),
        }
    }

    fn wants(&self, event: &LoggedEvent) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| glob::matches(tag, &event.event.tag))
    }
}
