//! Who asks: by a token in a header or a cookie, or by the way they came.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

use super::door;
use super::reply::Refused;
use crate::access::Rights;
use crate::api::{Api, Peer};
use crate::requests::Caller;

/// The cookie that a login leaves in a browser, since an event stream can send no header.
pub const COOKIE: &str = "session_id";

/// Somebody whom we know.
pub struct Session {
    pub caller: Caller,
    /// What proved it; `None` if the connection did.
    pub token: Option<String>,
}

/// A header that isn't empty counts more than the cookie.
pub async fn of(api: &Api, parts: &Parts) -> Result<Session, Refused> {
    let token = match given(&parts.headers) {
        Some(token) => Some(token),
        None => match cookie(&parts.headers) {
            // A browser sends a cookie whoever has made the page that asks (rule R9).
            Some(token) if parts.method == Method::GET || door::is_own(api, parts) => Some(token),
            Some(_) => return Err(Refused::unauthorized("a cookie from another site's page counts for nothing")),
            None => None,
        },
    };
    match token {
        Some(token) => by_token(api, parts, &token).await,
        None => by_connection(api, parts).await,
    }
}

/// The one whose token it is.
pub async fn by_token(api: &Api, parts: &Parts, token: &str) -> Result<Session, Refused> {
    if token.is_empty() || token.len() > 128 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Refused::unauthorized("Invalid token"));
    }
    let caller = api.requests.auth.token(token, peer(parts).address).await?;
    Ok(Session { caller, token: Some(token.to_owned()) })
}

/// The one whose connection it is: this machine's own users, and those with a certificate.
pub async fn by_connection(api: &Api, parts: &Parts) -> Result<Session, Refused> {
    let peer = peer(parts);
    if let Some(caller) = peer.local {
        return Ok(Session { caller, token: None });
    }
    if let Some(name) = peer.certificate {
        let caller = api.requests.auth.certificate(&name, peer.address).await?;
        return Ok(Session { caller, token: None });
    }
    Err(Refused::unauthorized("No permission -- see authorization schemes"))
}

/// Whoever sends a hook or asks for numbers, where the configuration wants no login for that.
pub fn anybody(parts: &Parts, what: &str) -> Caller {
    Caller { user: what.to_owned(), eauth: "none".to_owned(), rights: Rights::All, from: peer(parts).address }
}

pub fn peer(parts: &Parts) -> Peer {
    parts.extensions.get::<Peer>().cloned().unwrap_or_default()
}

fn given(headers: &HeaderMap) -> Option<String> {
    let token = headers.get("x-auth-token")?.to_str().unwrap_or("?").trim();
    (!token.is_empty()).then(|| token.to_owned())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, token)| *name == COOKIE && !token.is_empty())?;
    Some(token.trim_matches('"').to_owned())
}
