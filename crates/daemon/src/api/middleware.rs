//! Middleware for all responses: a request id, headers against other sites' pages, and compression.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::Response;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate, SizeAbove};

/// Identifies a request in the logs.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub fn apply(router: Router) -> Router {
    // Streams are not compressed: the compressor would hold events back until it has enough bytes.
    let which = DefaultPredicate::new().and(SizeAbove::new(1024)).and(NotForContentType::new("text/event-stream"));
    router.layer(CompressionLayer::new().compress_when(which)).layer(middleware::from_fn(add_headers))
}

async fn add_headers(request: Request, next: Next) -> Response {
    let given = request.headers().get(REQUEST_ID).filter(|id| is_plain_word(id)).cloned();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, given.unwrap_or_else(new_request_id));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// A client's own request id goes into logs, so it must be a plain word.
fn is_plain_word(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=64).contains(&bytes.len()) && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn new_request_id() -> HeaderValue {
    use std::hash::{BuildHasher, RandomState};
    let id = format!("{:016x}", RandomState::new().hash_one(0));
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"))
}
