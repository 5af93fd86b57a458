//! `/hook/…`: events from other programs.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use rocksalt_core::{Map, Value, request};

use super::reply::{Form, Refused};
use super::{body, session};
use crate::api::Api;

pub async fn bare(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    fire(&api, request, String::new()).await
}

pub async fn named(
    State(api): State<Arc<Api>>,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    fire(&api, request, path).await
}

async fn fire(api: &Api, request: Request, path: String) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let form = Form::wanted(&parts.headers)?;
    let caller = match api.settings.webhook_disable_auth {
        true => session::anybody(&parts, "webhook"),
        false => session::of(api, &parts).await?.caller,
    };
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut data = Map::new();
    data.insert("body", String::from_utf8_lossy(&content).into_owned());
    // Whatever they send is passed on as it is; what can be read of it is read.
    data.insert("post", body::parse(&parts.headers, &content).unwrap_or_else(|_| Map::new().into()));
    data.insert("headers", shown(&parts.headers, session::peer(&parts).address.map(|address| address.to_string())));
    api.requests.answer(&caller, request::Request::Hook { path, data }).await?;
    Ok(form.reply(&Map::from_iter([("success".into(), true.into())]).into()))
}

/// The headers but for those that prove who somebody is: events are seen by others (rule R13).
fn shown(headers: &HeaderMap, from: Option<String>) -> Map {
    const SECRET: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-auth-token"];
    let mut all = Map::new();
    all.insert("Remote-Addr", from);
    for (name, value) in headers.iter().filter(|(name, _)| !SECRET.contains(&name.as_str())) {
        all.insert(titled(name.as_str()), Value::String(String::from_utf8_lossy(value.as_bytes()).into_owned()));
    }
    all
}

/// `content-type` → `Content-Type`, as Salt shows them.
fn titled(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join("-")
}
