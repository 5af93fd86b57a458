//! [`Stream`]: events to one listener, from its own place in the log and at its own pace.

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

/// How often is looked whether the listener may still hear.
const CHECK: Duration = Duration::from_secs(5);

/// Every so many of these something is said, so that nobody in between takes the line for dead.
const SILENT_CHECKS: u32 = 3;

/// Who takes nothing for so long is gone; it can come back and go on from where it was.
const STUCK: Duration = Duration::from_secs(30);

/// Events that are there already go out together, up to so many bytes.
const TOGETHER: usize = 64 << 10;

pub struct Stream {
    pub follower: Follower,
    /// Globs; all events without any.
    pub tags: Vec<String>,
    pub texts: &'static EventTexts,
    /// Said first.
    pub greeting: String,
    /// Whether the listener may still hear: its token may have ended.
    pub valid: Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>,
}

impl Stream {
    /// As the body of an answer.
    pub fn body(self) -> Body {
        let (sender, receiver) = mpsc::channel::<Bytes>(4);
        tokio::spawn(self.pump(sender));
        let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|piece| (Ok::<Bytes, Infallible>(piece), receiver))
        });
        Body::from_stream(pieces)
    }

    /// Hands events on until nobody takes them any more.
    pub async fn pump(mut self, to: mpsc::Sender<Bytes>) {
        let mut checks = interval(CHECK);
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
                    // The ledger is closed, or the store is away: the listener comes back by itself.
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
            if !matches!(timeout(STUCK, to.send(piece)).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// One event, and those that are there already.
    fn gather(&mut self, first: Heard) -> Bytes {
        let mut piece = self.written(&first);
        let mut more = Vec::new();
        while piece.len() + more.len() < TOGETHER {
            let Some(Ok(heard)) = self.follower.next().now_or_never() else { break };
            let next = self.written(&heard);
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

    fn written(&self, heard: &Heard) -> Bytes {
        match heard {
            Heard::Event(event) if self.wants(event) => self.texts.text(event),
            Heard::Event(_) => Bytes::new(),
            Heard::Gap { first } => format!(": events before {first} are forgotten\n\n").into(),
        }
    }

    fn wants(&self, event: &LoggedEvent) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| glob::matches(tag, &event.event.tag))
    }
}
