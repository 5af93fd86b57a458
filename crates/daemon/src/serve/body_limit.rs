//! Limits of request bodies: size, time, and concurrent large bodies.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::Limited;
use hyper::body::{Frame, SizeHint};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Time limit of a body: a megabyte at 17 kB/s.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Larger bodies are read only with a permit, so that many clients together can't fill the memory.
const LARGE_BODY: u64 = 64 << 10;
static LARGE_BODY_PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(128)));

/// Applies the limits to a request; an error response if it announces a body that is too large.
pub async fn apply(request: Request, most: usize) -> Result<Request, Response> {
    if request.body().size_hint().lower() > most as u64 {
        let text = format!("the body is larger than {most} bytes");
        let error = match request.uri().path().starts_with("/v1/") {
            true => json!({ "error": { "kind": "too_large", "text": text } }),
            false => json!({ "status": 413, "return": text, "error": text }),
        };
        return Err((StatusCode::PAYLOAD_TOO_LARGE, Json(error)).into_response());
    }
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let small = request.body().size_hint().upper().is_some_and(|size| size <= LARGE_BODY);
    let permit = if small { None } else { Arc::clone(&LARGE_BODY_PERMITS).acquire_owned().await.ok() };
    let end = Box::pin(sleep(BODY_TIMEOUT));
    Ok(request.map(|body| Body::new(TimedBody { body: Limited::new(body, most), end, _permit: permit })))
}

/// A body with a time limit.
struct TimedBody {
    body: Limited<Body>,
    end: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

type BodyError = Box<dyn std::error::Error + Send + Sync>;

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err("the body was not received in time".into())));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
