//! Who asks: by a token, the unix socket or a certificate; and that a page of others can't ask in their name.

use axum::http::{HeaderMap, Method, header};
use rocksalt_core::Secret;
use rocksalt_core::hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::fault::Fault;
use crate::api::{Api, Peer};
use crate::requests::Caller;

/// The cookie of a login by a browser; Salt's name for it.
pub const COOKIE: &str = "session_id";

/// Where a page says again what only a page of ours can know.
pub const CSRF: &str = "x-csrf-token";

/// Somebody, and how they proved it.
pub struct Who {
    pub caller: Caller,
    /// What is to be checked again while a stream goes on, and given back by a logout.
    pub token: Option<Secret<String>>,
    /// It came by the cookie, which a browser sends by itself.
    pub cookie: bool,
}

/// Refused if nobody can be made out, before anything else of the request is read (rule R1).
pub async fn asks(api: &Api, peer: &Peer, method: &Method, headers: &HeaderMap) -> Result<Who, Fault> {
    if let Some((token, cookie)) = token(headers)? {
        let caller = api.requests.auth.token(token.reveal(), peer.address).await?;
        if cookie && !matches!(*method, Method::GET | Method::HEAD) {
            same_page(headers, &token)?;
        }
        return Ok(Who { caller, token: Some(token), cookie });
    }
    if let Some(caller) = &peer.local {
        return Ok(Who { caller: caller.clone(), token: None, cookie: false });
    }
    if let Some(name) = &peer.certificate {
        let caller = api.requests.auth.certificate(name, peer.address).await?;
        return Ok(Who { caller, token: None, cookie: false });
    }
    let hint = "get a token by POST /v1/sessions, and send it as 'Authorization: Bearer TOKEN'";
    Err(Fault::unauthenticated("nobody has logged in").hint(hint))
}

/// What a page must send along with the cookie: only who can read our answers knows it.
pub fn csrf(token: &Secret<String>) -> String {
    let digest = Sha256::new().chain_update(b"rocksalt csrf 1\0").chain_update(token.reveal()).finalize();
    hex(&digest)
}

fn same_page(headers: &HeaderMap, token: &Secret<String>) -> Result<(), Fault> {
    let given = headers.get(CSRF).map(|value| value.as_bytes()).unwrap_or_default();
    match bool::from(given.ct_eq(csrf(token).as_bytes())) {
        true => Ok(()),
        false => Err(Fault::forbidden("this came with a cookie and without the page's own token")
            .hint("send the 'csrf' of the login's answer as X-CSRF-Token")),
    }
}

/// The token, and whether a cookie had it. A header counts more than the cookie.
fn token(headers: &HeaderMap) -> Result<Option<(Secret<String>, bool)>, Fault> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(|text| text.split_once(' '));
        return match token {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Ok(Some((Secret::new(token.trim().to_owned()), false)))
            }
            _ => Err(Fault::unauthenticated("only 'Authorization: Bearer TOKEN' is understood")),
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
    fn a_header_counts_more_than_the_cookie() {
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
        assert!(same_page(&HeaderMap::new(), &token).is_err());
        assert!(same_page(&with("t"), &token).is_err());
        assert!(same_page(&with(&csrf(&token)), &token).is_ok());
    }
}
