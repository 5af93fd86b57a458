//! Middleware for all requests: logging, metrics, body limits, and the end of streams when the daemon stops.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures_util::StreamExt;
use tracing::Instrument;

use super::{ServerState, body_limit};
use crate::api::Peer;
use crate::requests::RequestUser;

/// Identifies a request in the log, to the client and to handlers.
#[derive(Clone, Debug)]
pub struct HttpRequestId(pub String);

impl HttpRequestId {
    fn new() -> HttpRequestId {
        static START: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
        static COUNT: AtomicU64 = AtomicU64::new(0);
        HttpRequestId(format!("{:08x}-{:x}", *START as u32, COUNT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Media types of responses that don't end by themselves.
const STREAMS: [&str; 4] = ["text/event-stream", "application/cbor-seq", "application/x-ndjson", "application/jsonl"];

pub fn apply(router: Router, shared: &Arc<ServerState>) -> Router {
    router.layer(from_fn_with_state(Arc::clone(shared), handle_request))
}

async fn handle_request(State(shared): State<Arc<ServerState>>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = HttpRequestId::new();
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    // The pattern, never the path, which may contain a token.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let from = request.extensions().get::<Peer>().and_then(|peer| peer.address);
    let asking = RequestUser::default();
    let mut response = match body_limit::apply(request, shared.requests.loaded().api.max_request_body_size).await {
        Ok(request) => {
            // Lines about what the request starts name it.
            let span = tracing::error_span!(target: "rocksalt_span", "request", id = id.0);
            asking.scope(next.run(request)).instrument(span).await
        }
        Err(refused) => refused,
    };
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert("x-request-id", value);
    }
    let (status, time) = (response.status().as_u16(), begun.elapsed());
    shared.metrics.answered(&method, route, status, time);
    let id = id.0.as_str();
    let user = asking.user().unwrap_or_default();
    let from = from.map(|from| from.to_string()).unwrap_or_else(|| "local".into());
    let ms = time.as_secs_f64() * 1000.0;
    match route {
        "/healthz" | "/metrics" => tracing::debug!(%method, route, status, ms, user, from, id, "request"),
        _ => tracing::info!(%method, route, status, ms, user, from, id, "request"),
    }
    until_stopped(&shared, response)
}

/// Ends streams when the daemon stops; clients reconnect with the id of the last event.
fn until_stopped(shared: &Arc<ServerState>, response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !STREAMS.iter().any(|stream| kind.starts_with(stream)) {
        return response;
    }
    let mut stopping = shared.stopping.subscribe();
    let listener = shared.metrics.listening();
    response.map(|body| {
        let stopped = async move {
            let _ = stopping.wait_for(|stopping| *stopping).await;
        };
        let stream = body.into_data_stream().take_until(Box::pin(stopped));
        Body::from_stream(stream.inspect(move |_| {
            // Counted until the stream is dropped.
            let _ = &listener;
        }))
    })
}
