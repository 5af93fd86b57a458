//! Responses: a value in the requested format, or an error.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rocksalt_core::{Map, Value, json, yaml};

use crate::requests::{FunctionResult, Refusal, RefusalKind};

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFormat {
    Json,
    Yaml,
}

impl ResponseFormat {
    /// Chooses by `Accept` and its weights. No header, or `*/*`, means JSON.
    pub fn negotiate(headers: &HeaderMap) -> Result<ResponseFormat, ErrorResponse> {
        let mut best: Option<(f32, ResponseFormat)> = None;
        let mut any = false;
        for (media, weight) in accepted(headers) {
            any = true;
            let format = match media.as_str() {
                "application/json" | "*/*" | "application/*" => ResponseFormat::Json,
                "application/x-yaml" | "application/yaml" | "text/yaml" => ResponseFormat::Yaml,
                _ => continue,
            };
            if weight > 0.0 && best.is_none_or(|(known, _)| weight > known) {
                best = Some((weight, format));
            }
        }
        match best {
            Some((_, format)) => Ok(format),
            None if any => Err(ErrorResponse::new(StatusCode::NOT_ACCEPTABLE, "responses are JSON or YAML")),
            None => Ok(ResponseFormat::Json),
        }
    }

    /// A response with status 200.
    pub fn reply(self, value: &Value) -> Response {
        self.text(match self {
            ResponseFormat::Json => json::compact(value),
            ResponseFormat::Yaml => yaml::emit(value),
        })
    }

    fn text(self, text: String) -> Response {
        let kind = match self {
            ResponseFormat::Json => "application/json",
            ResponseFormat::Yaml => "application/x-yaml",
        };
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
        response
    }

    /// `{"return": [ … ]}`; results that are JSON text already are included unchanged.
    pub fn all(self, results: Vec<FunctionResult>) -> Response {
        if self == ResponseFormat::Yaml || !results.iter().any(|given| matches!(given, FunctionResult::Written(_))) {
            return self.returned(results.into_iter().map(FunctionResult::into_value).collect::<Vec<_>>());
        }
        let written = results.into_iter().map(|given| match given {
            FunctionResult::Written(text) => text,
            FunctionResult::Value(value) => json::compact(&value).into(),
        });
        self.text(format!("{{\"return\":[{}]}}", written.collect::<Vec<_>>().join(",")))
    }

    /// `{"return": …}`.
    pub fn returned(self, value: impl Into<Value>) -> Response {
        self.reply(&Map::from_iter([("return".into(), value.into())]).into())
    }
}

/// The media types of `Accept` with their weights, in order.
pub fn accepted(headers: &HeaderMap) -> Vec<(String, f32)> {
    let all = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let items = all.flat_map(|text| text.split(',')).map(str::trim).filter(|item| !item.is_empty()).take(32);
    items
        .map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
            (media, weight)
        })
        .collect()
}

/// An error response. Clients read the status; Halite reads `error`.
#[derive(Clone, Debug)]
pub struct ErrorResponse {
    pub status: StatusCode,
    pub text: String,
}

impl ErrorResponse {
    pub fn new(status: StatusCode, text: impl Into<String>) -> ErrorResponse {
        ErrorResponse { status, text: text.into() }
    }

    pub fn bad_request(text: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::BAD_REQUEST, text)
    }

    pub fn unauthorized(text: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::UNAUTHORIZED, text)
    }
}

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> ErrorResponse {
        let status = match refusal.kind {
            // Salt and its clients don't distinguish these.
            RefusalKind::Unauthenticated | RefusalKind::Forbidden => StatusCode::UNAUTHORIZED,
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::Invalid => StatusCode::BAD_REQUEST,
            RefusalKind::Taken => StatusCode::CONFLICT,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            RefusalKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        };
        let text = match refusal.hint {
            Some(hint) => format!("{}; {hint}", refusal.text),
            None => refusal.text,
        };
        ErrorResponse { status, text }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("status", u32::from(self.status.as_u16()));
        body.insert("return", self.text.as_str());
        body.insert("error", self.text);
        let mut response = ResponseFormat::Json.reply(&body.into());
        *response.status_mut() = self.status;
        response
    }
}
