//! `/events`: all events as a stream of server-sent events.

use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use rocksalt_core::record::{EventId, LoggedEvent};
use rocksalt_core::{Value, json, request};

use super::reply::ErrorResponse;
use super::session::{self, SaltSession};
use super::{clients, reply};
use crate::api::Api;
use crate::api::event_texts::EventTexts;
use crate::api::stream::EventStream;
use crate::functions::stamp;
use crate::requests::{RequestResult, StandingRight};

/// Events in Salt's format, each serialized once for all listeners.
pub static TEXTS: LazyLock<EventTexts> = LazyLock::new(|| EventTexts::new(format_event));

pub async fn events(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let session = session::authenticate(&api, &parts).await?;
    // A token in a URL would end up in logs (`docs/security-rules.md#r9`).
    if parts.uri.query().is_some() {
        return Err(ErrorResponse::bad_request(
            "no parameters are allowed here; send the token in the header X-Auth-Token",
        ));
    }
    respond(&api, &parts, session, "retry: 400\n", Vec::new()).await
}

/// Opens the stream and responds with it.
pub async fn respond(
    api: &Arc<Api>,
    parts: &Parts,
    session: SaltSession,
    greeting: &str,
    tags: Vec<String>,
) -> Result<Response, ErrorResponse> {
    let accepted = reply::accepted(&parts.headers);
    let fits = |media: &str| {
        matches!(media, "text/event-stream" | "text/*" | "*/*" | "application/json" | "application/x-yaml")
    };
    if !accepted.is_empty() && !accepted.iter().any(|(media, _)| fits(media)) {
        return Err(ErrorResponse::new(axum::http::StatusCode::NOT_ACCEPTABLE, "events are text/event-stream"));
    }
    let stream = listen(api, parts, session, greeting, tags).await?;
    let mut response = Response::new(stream.body());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream;charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies must not buffer events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Opens a stream of events, after the last event that the client got.
pub async fn listen(
    api: &Arc<Api>,
    parts: &Parts,
    session: SaltSession,
    greeting: &str,
    tags: Vec<String>,
) -> Result<EventStream, ErrorResponse> {
    let request = request::Request::Events { after: last_event(&parts.headers), tags };
    let RequestResult::Events { follower, tags, right } = api.requests.answer(&session.caller, request).await? else {
        return Err(clients::unexpected());
    };
    let (requests, from) = (Arc::clone(&api.requests), session::peer(parts).address);
    let right: Arc<StandingRight> = right.into();
    let valid = move || {
        let (requests, token, right) = (Arc::clone(&requests), session.token.clone(), Arc::clone(&right));
        Box::pin(async move {
            let is_valid = match token {
                Some(token) => requests.auth.token(&token, from).await.is_ok(),
                None => true,
            };
            is_valid && right.holds().await
        }) as futures_util::future::BoxFuture<'static, bool>
    };
    Ok(EventStream { follower: *follower, tags, texts: &TEXTS, greeting: greeting.to_owned(), valid: Box::new(valid) })
}

/// The last event that a browser got before its stream broke.
fn last_event(headers: &HeaderMap) -> Option<EventId> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

/// An event as Salt sends it, with its id for reconnecting. Browsers ignore the field `tag:`.
fn format_event(event: &LoggedEvent) -> String {
    let tag: String = event.event.tag.chars().filter(|c| !c.is_control()).collect();
    let data = as_json(event);
    match event.id {
        0 => format!("tag: {tag}\ndata: {data}\n\n"),
        id => format!("id: {id}\ntag: {tag}\ndata: {data}\n\n"),
    }
}

/// `{"tag": …, "data": {…}}`. Every payload has `_stamp`; events of targets also have `ts`.
pub fn as_json(event: &LoggedEvent) -> String {
    let mut data = event.event.data.clone();
    data.insert("_stamp", stamp(event.stamp));
    if data.contains_key("cmd") && !data.contains_key("ts") {
        data.insert("ts", event.stamp / 1_000_000);
    }
    let mut all = rocksalt_core::Map::with_capacity(2);
    all.insert("tag", event.event.tag.as_str());
    all.insert("data", data);
    json::compact(&Value::Map(all))
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{Event, Map};

    use super::*;

    #[test]
    fn an_event_is_three_lines_and_an_empty_one() {
        let data = Map::from_iter([("n".into(), Value::Int(1)), ("t".into(), "a\nb".into())]);
        let event = Event { tag: "my/event\nid: 7".into(), data };
        let text =
            format_event(&LoggedEvent { id: 3, stamp: 1_769_851_800_123_456, event: event.clone(), account: None });
        assert_eq!(
            text,
            "id: 3\ntag: my/eventid: 7\ndata: {\"tag\":\"my/event\\nid: 7\",\"data\":{\"n\":1,\"t\":\"a\\nb\",\
             \"_stamp\":\"2026-01-31T09:30:00.123456\"}}\n\n"
        );
        assert!(format_event(&LoggedEvent::new(event, None)).starts_with("tag: "));
    }
}
