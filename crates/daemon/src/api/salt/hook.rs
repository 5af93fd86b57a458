//! `/hook/…`: events from other programs.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use rocksalt_core::{Map, Value, request};

use super::reply::{ErrorResponse, ResponseFormat};
use super::{body, session};
use crate::api::Api;

pub async fn bare(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    fire(&api, request, String::new()).await
}

pub async fn named(
    State(api): State<Arc<Api>>,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    fire(&api, request, path).await
}

async fn fire(api: &Api, request: Request, path: String) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let caller = match api.settings.webhook_disable_auth {
        true => session::unauthenticated(&parts, "webhook"),
        false => session::authenticate(api, &parts).await?.caller,
    };
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut data = Map::new();
    data.insert("body", String::from_utf8_lossy(&content).into_owned());
    // The body is passed on unchanged, and also parsed if it can be.
    data.insert("post", body::parse(&parts.headers, &content).unwrap_or_else(|_| Map::new().into()));
    data.insert(
        "headers",
        public_headers(&parts.headers, session::peer(&parts).address.map(|address| address.to_string())),
    );
    api.requests.answer(&caller, request::Request::Hook { path, data }).await?;
    Ok(format.reply(&Map::from_iter([("success".into(), true.into())]).into()))
}

/// The headers without those that authenticate, because others see events (`docs/security-rules.md#r13`).
fn public_headers(headers: &HeaderMap, from: Option<String>) -> Map {
    const SECRET: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-auth-token"];
    let mut all = Map::new();
    all.insert("Remote-Addr", from);
    for (name, value) in headers.iter().filter(|(name, _)| !SECRET.contains(&name.as_str())) {
        all.insert(title_case(name.as_str()), Value::String(String::from_utf8_lossy(value.as_bytes()).into_owned()));
    }
    all
}

/// `content-type` → `Content-Type`, as Salt writes them.
fn title_case(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join("-")
}
