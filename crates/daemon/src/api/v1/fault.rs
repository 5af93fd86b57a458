//! [`Fault`]: what is answered when something is not done, in one form: `{"error": {"kind", "text", "hint"}}`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::requests::{Kind, Refusal};

#[derive(Debug)]
pub struct Fault {
    status: StatusCode,
    error: Said,
}

/// An answer that says why something was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct Body<'a> {
    error: &'a Said,
}

/// Why, and the way out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reason")]
pub struct Said {
    /// For programs: `unauthenticated`, `forbidden`, `not_found`, `no_targets`, `invalid`, `not_allowed`,
    /// `not_supported`, `taken`, `too_large`, `too_many`, `unavailable`, `timeout`, `internal`.
    kind: &'static str,
    /// For people.
    text: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Fault {
    fn new(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Fault {
        Fault { status, error: Said { kind, text: text.into(), hint: None } }
    }

    pub fn invalid(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, "invalid", text)
    }

    pub fn not_found(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, "not_found", text)
    }

    pub fn no_targets(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, "no_targets", text)
    }

    pub fn not_allowed() -> Fault {
        let fault = Fault::new(StatusCode::METHOD_NOT_ALLOWED, "not_allowed", "this path has no such method");
        fault.hint("the header Allow says which it has")
    }

    pub fn not_supported(given: &str) -> Fault {
        let text = format!("a body of the type '{given}' can't be read here");
        Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_supported", text).hint("send application/json")
    }

    pub fn too_large(limit: usize) -> Fault {
        let text = format!("the body is larger than the {limit} bytes that are taken");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text).hint("max_request_body_size says how much")
    }

    pub fn forbidden(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::FORBIDDEN, "forbidden", text)
    }

    pub fn unauthenticated(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::UNAUTHORIZED, "unauthenticated", text)
    }

    pub fn timeout(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::GATEWAY_TIMEOUT, "timeout", text)
    }

    /// A fault of ours: what it was stands in the log, not in the answer.
    pub fn internal() -> Fault {
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong here; the log says what")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.error.hint = Some(hint.into());
        self
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        let (status, kind) = match refusal.kind {
            Kind::Unauthenticated => (StatusCode::UNAUTHORIZED, "unauthenticated"),
            Kind::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
            Kind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Kind::Invalid => (StatusCode::BAD_REQUEST, "invalid"),
            Kind::Taken => (StatusCode::CONFLICT, "taken"),
            Kind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Kind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
        };
        Fault { status, error: Said { kind, text: refusal.text, hint: refusal.hint } }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&Body { error: &self.error }).unwrap_or_default();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
