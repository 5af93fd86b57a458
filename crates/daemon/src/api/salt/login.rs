//! `/login`, `/logout` and `/token`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use rocksalt_core::{Map, Secret, Value};

use super::body;
use super::reply::{ErrorResponse, ResponseFormat};
use super::session::{self, COOKIE};
use crate::access::Rights;
use crate::api::Api;
use crate::auth::{Credentials, IssuedToken};

/// Age of the cookie in seconds; the token expires on its own.
const COOKIE_AGE: u32 = 36_000;

pub async fn prompt(request: Request) -> Result<Response, ErrorResponse> {
    let format = ResponseFormat::negotiate(request.headers())?;
    let mut answer = Map::new();
    answer.insert("status", Value::Null);
    answer.insert("return", "Please log in");
    Ok(format.reply(&answer.into()))
}

pub async fn login(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let fields = body::chunks(body::parse(&parts.headers, &content)?)?.into_iter().next().unwrap_or_default();
    let login = log_in(&api, &parts, &fields).await?;
    let mut answer = Map::new();
    let token = login.token.reveal().as_str();
    answer.insert("token", token);
    answer.insert("expire", login.expire);
    answer.insert("start", login.start);
    answer.insert("user", login.caller.user.as_str());
    // Halite's names for the same.
    answer.insert("name", login.caller.user.as_str());
    answer.insert("username", login.caller.user.as_str());
    answer.insert("eauth", login.caller.eauth.as_str());
    answer.insert("perms", permissions(&api, &login));
    let mut response = format.returned(vec![Value::Map(answer)]);
    let headers = response.headers_mut();
    if let Ok(token) = HeaderValue::from_str(token) {
        headers.insert("x-auth-token", token);
    }
    headers.insert(header::SET_COOKIE, cookie(&parts, token, COOKIE_AGE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

pub async fn logout(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(&api, &parts).await?;
    if let Some(token) = session.token {
        api.requests.auth.logout(&token).await?;
    }
    let mut response = format.returned("Your token has been cleared");
    response.headers_mut().insert(header::SET_COOKIE, cookie(&parts, "", 0));
    Ok(response)
}

/// Issues tokens for `/run`; the response is a bare list.
pub async fn token(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let all = body::chunks(body::parse(&parts.headers, &content)?)?;
    if all.is_empty() {
        return Err(ErrorResponse::unauthorized("Could not authenticate using provided credentials"));
    }
    let mut made = Vec::new();
    for fields in all {
        made.push(Value::Map(log_in(&api, &parts, &fields).await?.to_map()));
    }
    let mut response = format.reply(&made.into());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Username and password; `None` if one is missing.
pub fn credentials(fields: &Map) -> Option<Credentials> {
    let text =
        |key: &str| fields.get(key).filter(|value| value.is_scalar() && !value.is_null()).map(ToString::to_string);
    Some(Credentials {
        user: text("username").filter(|user| !user.is_empty())?,
        password: Secret::new(text("password")?),
        eauth: text("eauth").unwrap_or_default(),
        token_expire: text("token_expire").and_then(|seconds| seconds.parse().ok()),
    })
}

async fn log_in(api: &Api, parts: &Parts, fields: &Map) -> Result<IssuedToken, ErrorResponse> {
    let Some(credentials) = credentials(fields) else {
        return Err(ErrorResponse::unauthorized("Could not authenticate using provided credentials"));
    };
    Ok(api.requests.auth.login(credentials, session::peer(parts).address).await?)
}

/// The user's rules, as the configuration has them.
fn permissions(api: &Api, login: &IssuedToken) -> Value {
    let loaded = api.requests.loaded();
    let groups: &[String] = match &login.caller.rights {
        Rights::Listed { groups } => groups,
        _ => &[],
    };
    loaded.access.permissions(&login.caller.eauth, &login.caller.user, groups)
}

fn cookie(parts: &Parts, token: &str, age: u32) -> HeaderValue {
    let secure = if session::peer(parts).tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("session_id=; Path=/; Max-Age=0"))
}
