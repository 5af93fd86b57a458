//! [`Reply`]: what a handler answers, with what the document says of it.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rocksalt_core::json;
use rocksalt_core::value::to_value;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::fault::Fault;

/// Something to show, under a status.
pub struct Reply<T, const STATUS: u16 = 200> {
    body: T,
    cbor: Option<Vec<u8>>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// It is done, and there is nothing to say.
pub struct Done {
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// A stream of events that goes on.
pub struct Stream(pub Body);

/// How a success looks.
pub struct Described {
    pub status: u16,
    pub kind: Option<&'static str>,
    pub schema: Option<Schema>,
}

pub trait Answers {
    fn described(generator: &mut SchemaGenerator) -> Described;
    fn response(self) -> Response;
    /// It may take as long as it likes.
    const STREAM: bool = false;
}

impl<T, const STATUS: u16> Reply<T, STATUS> {
    pub fn new(body: T) -> Reply<T, STATUS> {
        Reply { body, cbor: None, headers: Vec::new() }
    }

    /// The same as records, for who wants them so.
    pub fn or_records<R: minicbor::Encode<()>>(mut self, wanted: bool, records: impl FnOnce() -> R) -> Self {
        // Into memory nothing can fail.
        self.cbor = wanted.then(|| minicbor::to_vec(records()).unwrap_or_default());
        self
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl<T: Serialize + JsonSchema, const STATUS: u16> Answers for Reply<T, STATUS> {
    fn described(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<T>();
        Described { status: STATUS, kind: Some("application/json"), schema: Some(schema) }
    }

    fn response(self) -> Response {
        let (kind, bytes) = match self.cbor {
            Some(bytes) => ("application/cbor", bytes),
            // By way of a value: its keys may be anything, and JSON's are texts.
            None => match to_value(&self.body) {
                Ok(value) => ("application/json", json::compact(&value).into_bytes()),
                Err(error) => {
                    tracing::error!(%error, "an answer can't be written");
                    return Fault::internal().into_response();
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

impl Answers for Done {
    fn described(_: &mut SchemaGenerator) -> Described {
        Described { status: 204, kind: None, schema: None }
    }

    fn response(self) -> Response {
        let mut response = StatusCode::NO_CONTENT.into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

impl Answers for Stream {
    const STREAM: bool = true;

    fn described(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<String>();
        Described { status: 200, kind: Some("text/event-stream"), schema: Some(schema) }
    }

    fn response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            // Proxies that would collect it.
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, self.0).into_response()
    }
}
