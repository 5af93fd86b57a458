//! Middleware of Salt's API: CORS, allowed addresses, and the web page for browsers.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::reply::{ErrorResponse, accepted};
use super::{session, web};
use crate::api::Api;

pub async fn filter(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let origin = allowed_origin(&api, &parts);
    let mut response = if parts.method == Method::OPTIONS {
        preflight()
    } else if !api.requests.auth.allowed_address(session::peer(&parts).address) {
        ErrorResponse::new(StatusCode::FORBIDDEN, "Bad IP").into_response()
    } else if wants_page(&api, &parts) {
        web::main_page(&api, &parts.headers).await
    } else {
        next.run(Request::from_parts(parts, body)).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("GET, POST"));
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    response
}

/// Whether a request comes from our own page or an allowed origin. Clients other than browsers send no origin.
pub fn is_same_site(api: &Api, parts: &Parts) -> bool {
    let site = parts.headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    match parts.headers.get(header::ORIGIN) {
        Some(_) => allowed_origin(api, parts).is_some(),
        None => site.is_none_or(|site| matches!(site, "same-origin" | "none")),
    }
}

/// The request's origin, if it is allowed; never `*` (`docs/security-rules.md#r9`).
fn allowed_origin(api: &Api, parts: &Parts) -> Option<HeaderValue> {
    let origin = parts.headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    let listed = api.settings.origins.iter().any(|known| known.trim_end_matches('/') == text);
    let host = text.split_once("://").map(|(_, host)| host);
    let same = host.is_some() && host == own_host(parts);
    (listed || same).then(|| origin.clone())
}

fn own_host(parts: &Parts) -> Option<&str> {
    let named = parts.headers.get(header::HOST).and_then(|value| value.to_str().ok());
    // HTTP/2 has it in the URI.
    named.or_else(|| parts.uri.authority().map(|authority| authority.as_str()))
}

fn preflight() -> Response {
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Content-Type, X-Auth-Token, X-Requested-With"),
    );
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("1400"));
    response
}

/// Whether a browser opens the address itself: then it asks for HTML.
fn wants_page(api: &Api, parts: &Parts) -> bool {
    let path = parts.uri.path();
    let files = [&api.settings.app_path, &api.settings.static_path];
    api.settings.app.is_some()
        && parts.method == Method::GET
        && prefers_html(&parts.headers)
        && !files
            .iter()
            .any(|place| path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn prefers_html(headers: &HeaderMap) -> bool {
    let all = accepted(headers);
    let weight = |wanted: &[&str]| {
        all.iter().filter(|(media, _)| wanted.contains(&media.as_str())).map(|(_, weight)| *weight).fold(0.0, f32::max)
    };
    let html = weight(&["text/html"]);
    html > 0.0 && html >= weight(&["application/json", "application/x-yaml", "text/event-stream"])
}
