//! Authenticates callers by a token in a header or a cookie, or by their connection.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

use super::middleware;
use super::reply::ErrorResponse;
use crate::access::Rights;
use crate::api::{Api, Peer};
use crate::requests::Caller;

/// The session cookie, because browsers can't send headers with event streams.
pub const COOKIE: &str = "session_id";

/// An authenticated caller.
pub struct SaltSession {
    pub caller: Caller,
    /// The token; `None` if the connection authenticates.
    pub token: Option<String>,
}

/// A header that isn't empty takes precedence over the cookie.
pub async fn authenticate(api: &Api, parts: &Parts) -> Result<SaltSession, ErrorResponse> {
    let token = match header_token(&parts.headers) {
        Some(token) => Some(token),
        None => match cookie(&parts.headers) {
            // Browsers send the cookie with requests of any site's page (`docs/security-rules.md#r9`).
            Some(token) if parts.method == Method::GET || middleware::is_same_site(api, parts) => Some(token),
            Some(_) => return Err(ErrorResponse::unauthorized("the cookie is not accepted from another site's page")),
            None => None,
        },
    };
    match token {
        Some(token) => by_token(api, parts, &token).await,
        None => by_connection(api, parts).await,
    }
}

/// Authenticates by a token.
pub async fn by_token(api: &Api, parts: &Parts, token: &str) -> Result<SaltSession, ErrorResponse> {
    if token.is_empty() || token.len() > 128 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ErrorResponse::unauthorized("Invalid token"));
    }
    let caller = api.requests.auth.token(token, peer(parts).address).await?;
    Ok(SaltSession { caller, token: Some(token.to_owned()) })
}

/// Authenticates by the unix socket or a client certificate.
pub async fn by_connection(api: &Api, parts: &Parts) -> Result<SaltSession, ErrorResponse> {
    let peer = peer(parts);
    if let Some(caller) = peer.local {
        return Ok(SaltSession { caller, token: None });
    }
    if let Some(name) = peer.certificate {
        let caller = api.requests.auth.certificate(&name, peer.address).await?;
        return Ok(SaltSession { caller, token: None });
    }
    Err(ErrorResponse::unauthorized("No permission -- see authorization schemes"))
}

/// The caller of hooks and statistics, if the configuration disables authentication for them.
pub fn unauthenticated(parts: &Parts, what: &str) -> Caller {
    Caller { user: what.to_owned(), eauth: "none".to_owned(), rights: Rights::All, from: peer(parts).address }
}

pub fn peer(parts: &Parts) -> Peer {
    parts.extensions.get::<Peer>().cloned().unwrap_or_default()
}

fn header_token(headers: &HeaderMap) -> Option<String> {
    let token = headers.get("x-auth-token")?.to_str().unwrap_or("?").trim();
    (!token.is_empty()).then(|| token.to_owned())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, token)| *name == COOKIE && !token.is_empty())?;
    Some(token.trim_matches('"').to_owned())
}
