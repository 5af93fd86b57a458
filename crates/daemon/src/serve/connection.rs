//! Serves one connection with HTTP/1 or HTTP/2, with limits so that a client can't block others.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::ServiceExt;

use super::ServerState;
use super::timeout_stream::TimeoutStream;
use crate::api::Peer;

/// Limit of a request's headers, and of buffered response bytes.
const MAX_HEAD: usize = 64 << 10;

/// Serves until the client disconnects or stalls, or the daemon stops.
pub async fn serve<T>(shared: &Arc<ServerState>, stream: T, peer: Peer)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &shared.settings.limits;
    let stream = TokioIo::new(TimeoutStream::new(stream, limits.head, limits.stalled));
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(MAX_HEAD).max_headers(100);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(MAX_HEAD as u32)
        .max_send_buf_size(MAX_HEAD)
        // Detects clients that are gone without closing.
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    let from = peer.address;
    let service = service_fn(|mut request: Request<Incoming>| {
        let router = shared.router();
        request.extensions_mut().insert(peer.clone());
        async move { router.oneshot(request.map(Body::new)).await as Result<Response, Infallible> }
    });
    let mut stopping = shared.stopping.subscribe();
    let mut connection = pin!(builder.serve_connection_with_upgrades(stream, service));
    let _counted = shared.metrics.connected();
    let stop = async {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(?from, %error, "a connection failed");
    }
}
