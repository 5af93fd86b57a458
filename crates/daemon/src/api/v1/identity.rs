//! Authenticates callers by a token, the unix socket or a certificate, with protection against CSRF.

use axum::http::{HeaderMap, Method, header};
use rocksalt_core::Secret;
use rocksalt_core::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::error::ApiError;
use crate::api::{Api, Peer};
use crate::requests::Caller;

/// The session cookie of browsers, with Salt's name.
pub const COOKIE: &str = "session_id";

/// The header with the CSRF token.
pub const CSRF: &str = "x-csrf-token";

/// An authenticated caller.
pub struct ApiIdentity {
    pub caller: Caller,
    /// Checked again during streams, and revoked by a logout.
    pub token: Option<Secret<String>>,
    /// The token came in the cookie, which browsers send by themselves.
    pub cookie: bool,
}

/// Authenticates a request before anything else of it is read (`docs/security-rules.md#r1`).
pub async fn authenticate(
    api: &Api,
    peer: &Peer,
    method: &Method,
    headers: &HeaderMap,
) -> Result<ApiIdentity, ApiError> {
    if let Some((token, cookie)) = token(headers)? {
        let caller = api.requests.auth.token(token.reveal(), peer.address).await?;
        if cookie && !matches!(*method, Method::GET | Method::HEAD) {
            check_csrf(headers, &token)?;
        }
        return Ok(ApiIdentity { caller, token: Some(token), cookie });
    }
    if let Some(caller) = &peer.local {
        return Ok(ApiIdentity { caller: caller.clone(), token: None, cookie: false });
    }
    if let Some(name) = &peer.certificate {
        let caller = api.requests.auth.certificate(name, peer.address).await?;
        return Ok(ApiIdentity { caller, token: None, cookie: false });
    }
    let hint = "get a token with POST /v1/sessions, and send it as 'Authorization: Bearer TOKEN'";
    Err(ApiError::unauthenticated("not logged in").hint(hint))
}

/// The CSRF token that a page must send with the cookie. Only pages that can read our responses know it.
pub fn csrf(token: &Secret<String>) -> String {
    let digest = Sha256::new().chain_update(b"rocksalt csrf 1\0").chain_update(token.reveal()).finalize();
    hex(&digest)
}

fn check_csrf(headers: &HeaderMap, token: &Secret<String>) -> Result<(), ApiError> {
    let given = headers.get(CSRF).map(|value| value.as_bytes()).unwrap_or_default();
    match bool::from(given.ct_eq(csrf(token).as_bytes())) {
        true => Ok(()),
        false => Err(ApiError::forbidden("the request has a cookie but no CSRF token")
            .hint("send the 'csrf' of the login's response as X-CSRF-Token")),
    }
}

/// The token, and whether it is from the cookie. A header takes precedence over the cookie.
fn token(headers: &HeaderMap) -> Result<Option<(Secret<String>, bool)>, ApiError> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(|text| text.split_once(' '));
        return match token {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Ok(Some((Secret::new(token.trim().to_owned()), false)))
            }
            _ => Err(ApiError::unauthenticated("only 'Authorization: Bearer TOKEN' is supported")),
        };
    }
    let plain = headers.get("x-auth-token").and_then(|value| value.to_str().ok()).filter(|token| !token.is_empty());
    if let Some(token) = plain {
        return Ok(Some((Secret::new(token.to_owned()), false)));
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(name, token)| *name == COOKIE && !token.is_empty());
    Ok(found.map(|(_, token)| (Secret::new(token.to_owned()), true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(&'static str, &str)]) -> Option<(String, bool)> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a header"));
        }
        token(&headers).expect("understood").map(|(token, cookie)| (token.reveal().clone(), cookie))
    }

    #[test]
    fn a_header_takes_precedence_over_the_cookie() {
        let cookie = ("cookie", "a=b; session_id=c; d=e");
        assert_eq!(found(&[cookie]), Some(("c".into(), true)));
        assert_eq!(found(&[cookie, ("x-auth-token", "")]), Some(("c".into(), true)));
        assert_eq!(found(&[cookie, ("x-auth-token", "x")]), Some(("x".into(), false)));
        assert_eq!(found(&[cookie, ("x-auth-token", "x"), ("authorization", "bearer t")]), Some(("t".into(), false)));
        assert_eq!(found(&[("cookie", "session_id=")]), None);
        let basic = HeaderMap::from_iter([(header::AUTHORIZATION, "Basic YTpi".parse().expect("a header"))]);
        assert!(token(&basic).is_err());
    }

    #[test]
    fn a_cookie_alone_changes_nothing() {
        let token = Secret::new("t".to_owned());
        let with =
            |value: &str| HeaderMap::from_iter([(CSRF.parse().expect("a name"), value.parse().expect("a header"))]);
        assert!(check_csrf(&HeaderMap::new(), &token).is_err());
        assert!(check_csrf(&with("t"), &token).is_err());
        assert!(check_csrf(&with(&csrf(&token)), &token).is_ok());
    }
}
