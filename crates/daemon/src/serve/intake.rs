//! A request's body: no larger than allowed, and there in time.

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

/// For the whole of a body: a megabyte at 17 kB/s.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bodies beyond this size that are being read at once: many clients together must not fill the memory.
const LARGE: u64 = 64 << 10;
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(128)));

/// The request with its body in bounds; an answer if it says itself that it is too large.
pub async fn limited(request: Request, most: usize) -> Result<Request, Response> {
    if request.body().size_hint().lower() > most as u64 {
        let text = format!("the body is larger than the {most} bytes that are allowed");
        let error = match request.uri().path().starts_with("/v1/") {
            true => json!({ "error": { "kind": "too_large", "text": text } }),
            false => json!({ "status": 413, "return": text, "error": text }),
        };
        return Err((StatusCode::PAYLOAD_TOO_LARGE, Json(error)).into_response());
    }
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let small = request.body().size_hint().upper().is_some_and(|size| size <= LARGE);
    let place = if small { None } else { Arc::clone(&PLACES).acquire_owned().await.ok() };
    let end = Box::pin(sleep(PATIENCE));
    Ok(request.map(|body| Body::new(Timely { body: Limited::new(body, most), end, _place: place })))
}

/// A body that must be there in time.
struct Timely {
    body: Limited<Body>,
    end: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err("the body did not come in time".into())));
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
