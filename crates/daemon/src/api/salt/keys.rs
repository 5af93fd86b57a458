//! `/keys`: the targets and their keys.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use rocksalt_core::request::{self, ControllerCall};
use rocksalt_core::{Map, Value};

use super::reply::{ErrorResponse, ResponseFormat};
use super::{body, clients, login, session};
use crate::api::Api;

pub async fn all(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    wheel(&api, &parts, ControllerCall { function: "key.list_all".into(), ..ControllerCall::default() }).await
}

pub async fn one(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let kwargs = Map::from_iter([("match".into(), Value::from(id))]);
    wheel(&api, &parts, ControllerCall { function: "key.finger".into(), kwargs, ..ControllerCall::default() }).await
}

async fn wheel(api: &Api, parts: &Parts, local: ControllerCall) -> Result<Response, ErrorResponse> {
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(api, parts).await?;
    let ran = clients::function_result(api.requests.answer(&session.caller, request::Request::Wheel(local)).await)?;
    Ok(format.returned(ran.into_value()))
}

/// Salt's key pair for a new minion. It doesn't exist here; authorized callers get that as an error.
pub async fn generate(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let fields = body::chunks(body::parse(&parts.headers, &content)?)?.into_iter().next().unwrap_or_default();
    let Some(credentials) = login::credentials(&fields) else {
        return Err(ErrorResponse::unauthorized("Could not authenticate using provided credentials"));
    };
    let caller = api.requests.auth.verify(&credentials, session::peer(&parts).address).await?;
    let id = fields.get("mid").cloned().unwrap_or_default();
    let kwargs = Map::from_iter([("id_".into(), id)]);
    let local = ControllerCall { function: "key.gen_accept".into(), kwargs, ..ControllerCall::default() };
    let ran = clients::function_result(api.requests.answer(&caller, request::Request::Wheel(local)).await)?;
    let text = ran.into_value().to_string();
    Err(ErrorResponse::new(StatusCode::NOT_IMPLEMENTED, text))
}
