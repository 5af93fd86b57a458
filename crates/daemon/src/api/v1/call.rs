//! [`ApiCall`]: a request whose parts were validated against their schemas.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderMap;
use rocksalt_core::json;
use rocksalt_core::request::Request;
use rocksalt_core::value::from_value;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::error::ApiError;
use super::identity::ApiIdentity;
use super::schema::{self, resolved};
use crate::api::{Api, Peer};
use crate::requests::RequestResult;

/// The input of a handler: `P` from the path, `Q` from the query, `B` from the body.
pub struct ApiCall<P, Q, B> {
    pub api: Arc<Api>,
    pub peer: Peer,
    /// `None` only for endpoints without authentication.
    pub identity: Option<ApiIdentity>,
    pub headers: HeaderMap,
    /// The client accepts CBOR records.
    pub cbor: bool,
    pub path: P,
    pub query: Q,
    pub body: B,
}

/// No input.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// Input from clients. It is validated against its schema, which rejects unknown fields.
pub trait ApiInput: DeserializeOwned + JsonSchema + Send + 'static {
    /// Decodes CBOR records; most inputs are JSON only.
    fn from_cbor(_: &[u8]) -> Option<Result<Self, String>> {
        None
    }
}

impl ApiInput for Empty {}

impl<P, Q, B> ApiCall<P, Q, B> {
    pub fn identity(&self) -> Result<&ApiIdentity, ApiError> {
        self.identity.as_ref().ok_or_else(|| ApiError::unauthenticated("not logged in"))
    }

    /// Executes a request as the caller.
    pub async fn answer(&self, request: Request) -> Result<RequestResult, ApiError> {
        Ok(self.api.requests.answer(&self.identity()?.caller, request).await?)
    }
}

/// Parses path or query parameters by their types in the schema.
pub fn from_texts<T: ApiInput>(root: &Json, pairs: impl IntoIterator<Item = (String, String)>) -> Result<T, ApiError> {
    let inner = resolved(root, root);
    let mut map = Map::new();
    for (name, text) in pairs {
        let property = inner.get("properties").and_then(|properties| properties.get(&name)).unwrap_or(&Json::Null);
        let property = resolved(root, property);
        if is_a(property, "array") {
            let item = typed(resolved(root, property.get("items").unwrap_or(&Json::Null)), text);
            match map.entry(name).or_insert_with(|| Json::Array(Vec::new())) {
                Json::Array(items) => items.push(item),
                _ => return Err(ApiError::internal()),
            }
        } else if map.contains_key(&name) {
            return Err(ApiError::invalid(format!("'{name}' is given twice")));
        } else {
            map.insert(name, typed(property, text));
        }
    }
    from_json(root, Json::Object(map))
}

/// Validates and deserializes JSON.
pub fn from_json<T: ApiInput>(root: &Json, mut data: Json) -> Result<T, ApiError> {
    schema::check(root, root, &mut data, "").map_err(ApiError::invalid)?;
    // The schema check has better messages; this one must not repeat what was sent.
    from_value(json::from_json(data)).map_err(|_| ApiError::invalid("the request does not match its schema"))
}

/// Parses a body by its content type.
pub fn from_body<T: ApiInput>(root: &Json, kind: Option<&str>, bytes: &Bytes) -> Result<T, ApiError> {
    let plain = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if bytes.is_empty() && plain.is_empty() {
        return from_json(root, Json::Object(Map::new()));
    }
    match plain.as_str() {
        "application/json" => {}
        "application/cbor" => match T::from_cbor(bytes) {
            Some(read) => return read.map_err(ApiError::invalid),
            None => return Err(ApiError::not_supported(&plain)),
        },
        other => return Err(ApiError::not_supported(&other.chars().take(80).collect::<String>())),
    }
    let fault = |error: serde_json::Error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        ApiError::invalid(format!("the body is not valid JSON at {place}"))
    };
    from_json(root, serde_json::from_slice(bytes).map_err(fault)?)
}

/// Converts a parameter to the schema's type; left as a string if it doesn't fit, so that the check reports it.
fn typed(schema: &Json, text: String) -> Json {
    if is_a(schema, "integer") || is_a(schema, "number") {
        // JSON's numbers only: no `+1`, no ` 1`, no `0x1`.
        return serde_json::from_str(&text).ok().filter(Json::is_number).unwrap_or(Json::String(text));
    }
    match text.as_str() {
        "true" if is_a(schema, "boolean") => Json::Bool(true),
        "false" if is_a(schema, "boolean") => Json::Bool(false),
        _ => Json::String(text),
    }
}

pub fn is_a(schema: &Json, kind: &str) -> bool {
    match schema.get("type") {
        Some(Json::String(one)) => one == kind,
        Some(Json::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => {
            let options = schema.get("anyOf").and_then(Json::as_array);
            options.is_some_and(|options| options.iter().any(|option| is_a(option, kind)))
        }
    }
}
