//! Server-sent events with keep-alives.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use rocksalt_core::Secret;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::call::ApiCall;
use super::error::ApiError;
use super::reply::StreamReply;
use crate::api::{Api, Peer};
use crate::requests::StandingRight;

/// Interval of keep-alives and token checks.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The source of a stream's events.
pub trait EventSource: Send + Sized + 'static {
    /// The next formatted event; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// Formats an event.
pub fn format_event(id: Option<&str>, event: &str, data: &str) -> Bytes {
    text(id, event, data).into()
}

/// Formats an event as a string.
pub fn text(id: Option<&str>, event: &str, data: &str) -> String {
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        text.push_str("id: ");
        text.push_str(id);
        text.push('\n');
    }
    text.push_str("event: ");
    text.push_str(event);
    text.push_str("\ndata: ");
    // Compact JSON and base64 have no newlines.
    text.push_str(data);
    text.push_str("\n\n");
    text
}

impl StreamReply {
    /// The stream ends with the listener's token, and with the right if there is one.
    pub fn new<P, Q, B>(
        call: &ApiCall<P, Q, B>,
        right: Option<Box<StandingRight>>,
        source: impl EventSource,
    ) -> Result<StreamReply, ApiError> {
        let token = call.identity()?.token.clone();
        let token_check = TokenCheck { api: Arc::clone(&call.api), peer: call.peer.clone(), token, right };
        Ok(StreamReply(body(source, token_check)))
    }
}

/// Checks whether the listener may still read the stream.
struct TokenCheck {
    api: Arc<Api>,
    peer: Peer,
    token: Option<Secret<String>>,
    right: Option<Box<StandingRight>>,
}

impl TokenCheck {
    async fn is_valid(&self) -> bool {
        let is_valid = match &self.token {
            Some(token) => self.api.requests.auth.token(token.reveal(), self.peer.address).await.is_ok(),
            None => true,
        };
        match &self.right {
            Some(right) if is_valid => right.holds().await,
            _ => is_valid,
        }
    }
}

type NextEvent<S> = Pin<Box<dyn Future<Output = (S, Option<Bytes>)> + Send>>;

fn body<S: EventSource>(source: S, token_check: TokenCheck) -> Body {
    // Awaited across ticks, so that a source's partial work is not dropped.
    let wait = |mut source: S| -> NextEvent<S> {
        Box::pin(async move {
            let next = source.next().await;
            (source, next)
        })
    };
    let mut ticks = interval_at(Instant::now() + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let state = Some((wait(source), ticks, token_check));
    Body::from_stream(futures_util::stream::unfold(state, move |state| async move {
        let (mut waiting, mut ticks, token_check) = state?;
        tokio::select! {
            biased;
            (source, next) = &mut waiting => {
                let next: Result<Bytes, std::convert::Infallible> = Ok(next?);
                Some((next, Some((wait(source), ticks, token_check))))
            }
            _ = ticks.tick() => match token_check.is_valid().await {
                true => Some((Ok(Bytes::from_static(b": still here\n\n")), Some((waiting, ticks, token_check)))),
                false => {
                    let over = format_event(None, "over", "{\"text\":\"the token is no longer valid, or the rights have changed\"}");
                    Some((Ok(over), None))
                }
            },
        }
    }))
}
