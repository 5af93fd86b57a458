//! [`ApiError`]: an error response: `{"error": {"kind", "text", "hint"}}`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::requests::{Refusal, RefusalKind};

#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    error: ErrorReason,
}

/// The body of an error response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody<'a> {
    error: &'a ErrorReason,
}

/// The reason, and a hint.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reason")]
pub struct ErrorReason {
    /// For programs: `unauthenticated`, `forbidden`, `not_found`, `no_targets`, `invalid`, `not_allowed`,
    /// `not_supported`, `taken`, `too_large`, `too_many`, `unavailable`, `timeout`, `internal`.
    kind: &'static str,
    /// For people.
    text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, text: impl Into<String>) -> ApiError {
        ApiError { status, error: ErrorReason { kind, text: text.into(), hint: None } }
    }

    pub fn invalid(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid", text)
    }

    pub fn not_found(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", text)
    }

    pub fn no_targets(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "no_targets", text)
    }

    pub fn not_allowed() -> ApiError {
        let fault = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "not_allowed", "this path does not have this method");
        fault.hint("the header Allow lists its methods")
    }

    pub fn not_supported(given: &str) -> ApiError {
        let text = format!("a body of type '{given}' is not supported");
        ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_supported", text).hint("send application/json")
    }

    pub fn too_large(limit: usize) -> ApiError {
        let text = format!("the body is larger than {limit} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text).hint("max_request_body_size sets the limit")
    }

    pub fn forbidden(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
    }

    pub fn unauthenticated(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", text)
    }

    pub fn timeout(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, "timeout", text)
    }

    /// An internal error: the details are in the log, not in the response.
    pub fn internal() -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; see the daemon's log")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ApiError {
        self.error.hint = Some(hint.into());
        self
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let (status, kind) = match refusal.kind {
            RefusalKind::Unauthenticated => (StatusCode::UNAUTHORIZED, "unauthenticated"),
            RefusalKind::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
            RefusalKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            RefusalKind::Invalid => (StatusCode::BAD_REQUEST, "invalid"),
            RefusalKind::Taken => (StatusCode::CONFLICT, "taken"),
            RefusalKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            RefusalKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
        };
        ApiError { status, error: ErrorReason { kind, text: refusal.text, hint: refusal.hint } }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&ErrorBody { error: &self.error }).unwrap_or_default();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
