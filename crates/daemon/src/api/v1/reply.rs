//! [`ApiReply`]: a handler's response, with its schema.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rocksalt_core::json;
use rocksalt_core::value::to_value;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::error::ApiError;

/// A JSON body with a status.
pub struct ApiReply<T, const STATUS: u16 = 200> {
    body: T,
    cbor: Option<Vec<u8>>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Status 204.
pub struct NoContent {
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// A stream of server-sent events.
pub struct StreamReply(pub Body);

/// The status, type and schema of a successful response.
pub struct ResponseSchema {
    pub status: u16,
    pub kind: Option<&'static str>,
    pub schema: Option<Schema>,
}

pub trait ApiResponse {
    fn response_schema(generator: &mut SchemaGenerator) -> ResponseSchema;
    fn into_api_response(self) -> Response;
    /// A stream has no time limit.
    const STREAM: bool = false;
}

impl<T, const STATUS: u16> ApiReply<T, STATUS> {
    pub fn new(body: T) -> ApiReply<T, STATUS> {
        ApiReply { body, cbor: None, headers: Vec::new() }
    }

    /// Responds with CBOR records if the client wants them.
    pub fn or_records<R: minicbor::Encode<()>>(mut self, wanted: bool, records: impl FnOnce() -> R) -> Self {
        // Encoding into memory can't fail.
        self.cbor = wanted.then(|| minicbor::to_vec(records()).unwrap_or_default());
        self
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl<T: Serialize + JsonSchema, const STATUS: u16> ApiResponse for ApiReply<T, STATUS> {
    fn response_schema(generator: &mut SchemaGenerator) -> ResponseSchema {
        let schema = generator.subschema_for::<T>();
        ResponseSchema { status: STATUS, kind: Some("application/json"), schema: Some(schema) }
    }

    fn into_api_response(self) -> Response {
        let (kind, bytes) = match self.cbor {
            Some(bytes) => ("application/cbor", bytes),
            // Via a value: its keys may be of any type, and JSON's are strings.
            None => match to_value(&self.body) {
                Ok(value) => ("application/json", json::compact(&value).into_bytes()),
                Err(error) => {
                    tracing::error!(%error, "a response could not be serialized");
                    return ApiError::internal().into_response();
                }
            },
        };
        let status = StatusCode::from_u16(STATUS).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, kind)], bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(self.headers);
        response
    }
}

impl ApiResponse for NoContent {
    fn response_schema(_: &mut SchemaGenerator) -> ResponseSchema {
        ResponseSchema { status: 204, kind: None, schema: None }
    }

    fn into_api_response(self) -> Response {
        let mut response = StatusCode::NO_CONTENT.into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

impl ApiResponse for StreamReply {
    const STREAM: bool = true;

    fn response_schema(generator: &mut SchemaGenerator) -> ResponseSchema {
        let schema = generator.subschema_for::<String>();
        ResponseSchema { status: 200, kind: Some("text/event-stream"), schema: Some(schema) }
    }

    fn into_api_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            // Proxies must not buffer it.
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, self.0).into_response()
    }
}
