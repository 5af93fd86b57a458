//! Logins: a token for programs, a cookie for pages.

use axum::http::{HeaderValue, header};
use rocksalt_core::{Secret, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::{Done, Reply};
use super::who::{self, COOKIE};
use crate::access::Rights;
use crate::api::Api;
use crate::auth::Credentials;
use crate::requests::Caller;

/// What somebody gives to log in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    #[schemars(length(min = 1, max = 256))]
    username: String,
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String", length(max = 4096))]
    password: Secret<String>,
    /// What knows the user, as in Salt: `file`, `ldap` …
    #[serde(default = "file")]
    #[schemars(length(min = 1, max = 64))]
    eauth: String,
    /// Seconds that the token is to be good for, where the configuration lets users choose.
    #[serde(default)]
    #[schemars(range(min = 1, max = 315_360_000))]
    token_expire: Option<f64>,
    /// Keep the token in a cookie that no script can read. Whatever changes something then needs the answer's `csrf` in
    /// the header `X-CSRF-Token`.
    #[serde(default)]
    cookie: bool,
}

impl Input for Login {}

fn file() -> String {
    "file".into()
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

/// Somebody who is logged in.
#[derive(Serialize, JsonSchema)]
pub struct Session {
    user: String,
    eauth: String,
    /// Everything is allowed: on the daemon's own socket.
    all: bool,
    /// As the rules of `external_auth` are written.
    permissions: Value,
    /// Send it as `Authorization: Bearer TOKEN`. Said once, by the login.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire: Option<f64>,
    /// What a page sends as `X-CSRF-Token`, if the cookie is how it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

pub async fn login(asked: Asked<Nothing, Nothing, Login>) -> Result<Reply<Session, 201>, Fault> {
    let Login { username, password, eauth, token_expire, cookie } = asked.body;
    let credentials = Credentials { user: username, password, eauth, token_expire };
    let login = asked.api.requests.auth.login(credentials, asked.peer.address).await?;
    let session = session(&asked.api, &login.caller);
    let session = Session { start: Some(login.start), expire: Some(login.expire), ..session };
    if !cookie {
        return Ok(Reply::new(Session { token: Some(login.token.reveal().clone()), ..session }));
    }
    let seconds = (login.expire - login.start).max(0.0) as u64;
    let header = set_cookie(login.token.reveal(), seconds, asked.peer.tls)?;
    let session = Session { csrf: Some(who::csrf(&login.token)), ..session };
    Ok(Reply::new(session).header(header::SET_COOKIE, header))
}

pub async fn who(asked: Asked<Nothing, Nothing, Nothing>) -> Result<Reply<Session>, Fault> {
    let who = asked.who()?;
    let csrf = who.token.as_ref().filter(|_| who.cookie).map(who::csrf);
    Ok(Reply::new(Session { csrf, ..session(&asked.api, &who.caller) }))
}

pub async fn logout(asked: Asked<Nothing, Nothing, Nothing>) -> Result<Done, Fault> {
    let who = asked.who()?;
    if let Some(token) = &who.token {
        asked.api.requests.auth.logout(token.reveal()).await?;
    }
    let gone = set_cookie("", 0, asked.peer.tls)?;
    Ok(Done { headers: if who.cookie { vec![(header::SET_COOKIE, gone)] } else { Vec::new() } })
}

fn session(api: &Api, caller: &Caller) -> Session {
    let groups = match &caller.rights {
        Rights::Listed { groups } => groups.as_slice(),
        _ => &[],
    };
    Session {
        user: caller.user.clone(),
        eauth: caller.eauth.clone(),
        all: matches!(caller.rights, Rights::All),
        permissions: api.requests.loaded().access.permissions(&caller.eauth, &caller.user, groups),
        token: None,
        start: None,
        expire: None,
        csrf: None,
    }
}

fn set_cookie(token: &str, seconds: u64, tls: bool) -> Result<HeaderValue, Fault> {
    let secure = if tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut value = HeaderValue::from_str(&text).map_err(|_| Fault::internal())?;
    value.set_sensitive(true);
    Ok(value)
}
