//! Logins: a token for programs, a cookie for web pages.

use axum::http::{HeaderValue, header};
use rocksalt_core::{Secret, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::identity::{self, COOKIE};
use super::reply::{ApiReply, NoContent};
use crate::access::Rights;
use crate::api::Api;
use crate::auth::Credentials;
use crate::requests::Caller;

/// Credentials.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Login")]
pub struct LoginBody {
    #[schemars(length(min = 1, max = 256))]
    username: String,
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String", length(max = 4096))]
    password: Secret<String>,
    /// The authentication backend, as in Salt: `file`, `ldap` …
    #[serde(default = "file")]
    #[schemars(length(min = 1, max = 64))]
    eauth: String,
    /// Lifetime of the token in seconds, if the configuration lets users choose it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 315_360_000))]
    token_expire: Option<f64>,
    /// Store the token in a cookie that scripts can't read. Requests that change something then need the response's `csrf`
    /// in the header `X-CSRF-Token`.
    #[serde(default)]
    cookie: bool,
}

impl ApiInput for LoginBody {}

fn file() -> String {
    "file".into()
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

/// An authenticated user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionView {
    user: String,
    eauth: String,
    /// Everything is allowed, as on the unix socket.
    all: bool,
    /// The user's rules, as `external_auth` writes them.
    permissions: Value,
    /// Send it as `Authorization: Bearer TOKEN`. Only in the response to a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire: Option<f64>,
    /// The value of `X-CSRF-Token` for sessions by cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

pub async fn login(call: ApiCall<Empty, Empty, LoginBody>) -> Result<ApiReply<SessionView, 201>, ApiError> {
    let LoginBody { username, password, eauth, token_expire, cookie } = call.body;
    let credentials = Credentials { user: username, password, eauth, token_expire };
    let login = call.api.requests.auth.login(credentials, call.peer.address).await?;
    let session = session(&call.api, &login.caller);
    let session = SessionView { start: Some(login.start), expire: Some(login.expire), ..session };
    if !cookie {
        return Ok(ApiReply::new(SessionView { token: Some(login.token.reveal().clone()), ..session }));
    }
    let seconds = (login.expire - login.start).max(0.0) as u64;
    let header = set_cookie(login.token.reveal(), seconds, call.peer.tls)?;
    let session = SessionView { csrf: Some(identity::csrf(&login.token)), ..session };
    Ok(ApiReply::new(session).header(header::SET_COOKIE, header))
}

pub async fn who(call: ApiCall<Empty, Empty, Empty>) -> Result<ApiReply<SessionView>, ApiError> {
    let identity = call.identity()?;
    let csrf = identity.token.as_ref().filter(|_| identity.cookie).map(identity::csrf);
    Ok(ApiReply::new(SessionView { csrf, ..session(&call.api, &identity.caller) }))
}

pub async fn logout(call: ApiCall<Empty, Empty, Empty>) -> Result<NoContent, ApiError> {
    let identity = call.identity()?;
    if let Some(token) = &identity.token {
        call.api.requests.auth.logout(token.reveal()).await?;
    }
    let cleared = set_cookie("", 0, call.peer.tls)?;
    Ok(NoContent { headers: if identity.cookie { vec![(header::SET_COOKIE, cleared)] } else { Vec::new() } })
}

fn session(api: &Api, caller: &Caller) -> SessionView {
    let groups = match &caller.rights {
        Rights::Listed { groups } => groups.as_slice(),
        _ => &[],
    };
    SessionView {
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

fn set_cookie(token: &str, seconds: u64, tls: bool) -> Result<HeaderValue, ApiError> {
    let secure = if tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut value = HeaderValue::from_str(&text).map_err(|_| ApiError::internal())?;
    value.set_sensitive(true);
    Ok(value)
}
