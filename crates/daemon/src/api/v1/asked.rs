//! [`Asked`]: a request whose parts have been checked against their schemas.

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

use super::fault::Fault;
use super::schema::{self, resolved};
use super::who::Who;
use crate::api::{Api, Peer};
use crate::requests::Answer;

/// All that a handler gets: `P` from the path, `Q` behind the `?`, `B` from the body.
pub struct Asked<P, Q, B> {
    pub api: Arc<Api>,
    pub peer: Peer,
    /// `None` only where a door is open to all.
    pub who: Option<Who>,
    pub headers: HeaderMap,
    /// The answer is wanted as records.
    pub cbor: bool,
    pub path: P,
    pub query: Q,
    pub body: B,
}

/// There is none of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What comes from outside: described by its schema, and nothing else than what that says.
pub trait Input: DeserializeOwned + JsonSchema + Send + 'static {
    /// From our own form, which loses nothing; most have none.
    fn from_cbor(_: &[u8]) -> Option<Result<Self, String>> {
        None
    }
}

impl Input for Nothing {}

impl<P, Q, B> Asked<P, Q, B> {
    pub fn who(&self) -> Result<&Who, Fault> {
        self.who.as_ref().ok_or_else(|| Fault::unauthenticated("nobody has logged in"))
    }

    /// Has the request service do it.
    pub async fn answer(&self, request: Request) -> Result<Answer, Fault> {
        Ok(self.api.requests.answer(&self.who()?.caller, request).await?)
    }
}

/// Reads a map of texts (a path's or a query's parts) as what the schema says of each.
pub fn from_texts<T: Input>(root: &Json, pairs: impl IntoIterator<Item = (String, String)>) -> Result<T, Fault> {
    let inner = resolved(root, root);
    let mut map = Map::new();
    for (name, text) in pairs {
        let property = inner.get("properties").and_then(|properties| properties.get(&name)).unwrap_or(&Json::Null);
        let property = resolved(root, property);
        if is_a(property, "array") {
            let item = typed(resolved(root, property.get("items").unwrap_or(&Json::Null)), text);
            match map.entry(name).or_insert_with(|| Json::Array(Vec::new())) {
                Json::Array(items) => items.push(item),
                _ => return Err(Fault::internal()),
            }
        } else if map.contains_key(&name) {
            return Err(Fault::invalid(format!("'{name}' is there twice")));
        } else {
            map.insert(name, typed(property, text));
        }
    }
    from_json(root, Json::Object(map))
}

/// Reads JSON as what the schema says.
pub fn from_json<T: Input>(root: &Json, mut data: Json) -> Result<T, Fault> {
    schema::check(root, root, &mut data, "").map_err(Fault::invalid)?;
    // The schema has said what is wrong in better words; what is left must not repeat what was sent.
    from_value(json::from_json(data)).map_err(|_| Fault::invalid("this is not what the document describes"))
}

/// Reads a body by its content type.
pub fn from_body<T: Input>(root: &Json, kind: Option<&str>, bytes: &Bytes) -> Result<T, Fault> {
    let plain = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if bytes.is_empty() && plain.is_empty() {
        return from_json(root, Json::Object(Map::new()));
    }
    match plain.as_str() {
        "application/json" => {}
        "application/cbor" => match T::from_cbor(bytes) {
            Some(read) => return read.map_err(Fault::invalid),
            None => return Err(Fault::not_supported(&plain)),
        },
        other => return Err(Fault::not_supported(&other.chars().take(80).collect::<String>())),
    }
    let fault = |error: serde_json::Error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Fault::invalid(format!("the body is not JSON: something is wrong at {place}"))
    };
    from_json(root, serde_json::from_slice(bytes).map_err(fault)?)
}

/// A text as what a schema wants; as it is where it doesn't fit, so that the check says it.
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
