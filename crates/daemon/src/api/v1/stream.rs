//! Server-sent events: written as they come, with a word now and then so that nobody takes silence for a broken line.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use rocksalt_core::Secret;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::asked::Asked;
use super::fault::Fault;
use super::reply::Stream;
use crate::api::{Api, Peer};

/// How often something is said, and the token looked at again.
const EVERY: Duration = Duration::from_secs(15);

/// Where a stream's events come from.
pub trait Source: Send + Sized + 'static {
    /// The next one as it is written; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// One event, as it is written.
pub fn written(id: Option<&str>, event: &str, data: &str) -> Bytes {
    text(id, event, data).into()
}

/// The same as a text.
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
    // Compact JSON and base64 have no line ends.
    text.push_str(data);
    text.push_str("\n\n");
    text
}

impl Stream {
    pub fn new<P, Q, B>(asked: &Asked<P, Q, B>, source: impl Source) -> Result<Stream, Fault> {
        let token = asked.who()?.token.clone();
        let still = Still { api: Arc::clone(&asked.api), peer: asked.peer.clone(), token };
        Ok(Stream(body(source, still)))
    }
}

/// Whether who listens still may.
struct Still {
    api: Arc<Api>,
    peer: Peer,
    token: Option<Secret<String>>,
}

impl Still {
    async fn may(&self) -> bool {
        match &self.token {
            Some(token) => self.api.requests.auth.token(token.reveal(), self.peer.address).await.is_ok(),
            None => true,
        }
    }
}

type Waiting<S> = Pin<Box<dyn Future<Output = (S, Option<Bytes>)> + Send>>;

fn body<S: Source>(source: S, still: Still) -> Body {
    // Waited for over many ticks: what a source has half done is not dropped.
    let wait = |mut source: S| -> Waiting<S> {
        Box::pin(async move {
            let next = source.next().await;
            (source, next)
        })
    };
    let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let state = Some((wait(source), ticks, still));
    Body::from_stream(futures_util::stream::unfold(state, move |state| async move {
        let (mut waiting, mut ticks, still) = state?;
        tokio::select! {
            biased;
            (source, next) = &mut waiting => {
                let next: Result<Bytes, std::convert::Infallible> = Ok(next?);
                Some((next, Some((wait(source), ticks, still))))
            }
            _ = ticks.tick() => match still.may().await {
                true => Some((Ok(Bytes::from_static(b": still here\n\n")), Some((waiting, ticks, still)))),
                false => {
                    let over = written(None, "over", "{\"text\":\"the token is no longer good\"}");
                    Some((Ok(over), None))
                }
            },
        }
    }))
}
