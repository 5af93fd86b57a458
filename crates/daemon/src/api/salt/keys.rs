//! `/keys`: whom the controller knows.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use rocksalt_core::request::{self, ControllerCall};
use rocksalt_core::{Map, Value};

use super::reply::{Form, Refused};
use super::{body, clients, login, session};
use crate::api::Api;

pub async fn all(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    wheel(&api, &parts, ControllerCall { function: "key.list_all".into(), ..ControllerCall::default() }).await
}

pub async fn one(State(api): State<Arc<Api>>, Path(id): Path<String>, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let kwargs = Map::from_iter([("match".into(), Value::from(id))]);
    wheel(&api, &parts, ControllerCall { function: "key.finger".into(), kwargs, ..ControllerCall::default() }).await
}

async fn wheel(api: &Api, parts: &Parts, local: ControllerCall) -> Result<Response, Refused> {
    let form = Form::wanted(&parts.headers)?;
    let session = session::of(api, parts).await?;
    let ran = clients::ran(api.requests.answer(&session.caller, request::Request::Wheel(local)).await)?;
    Ok(form.returned(ran.into_value()))
}

/// A key pair for a new target: there is no such thing here, and it says so to those who might have had it.
pub async fn make(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let fields = body::chunks(body::parse(&parts.headers, &content)?)?.into_iter().next().unwrap_or_default();
    let Some(credentials) = login::credentials(&fields) else {
        return Err(Refused::unauthorized("Could not authenticate using provided credentials"));
    };
    let caller = api.requests.auth.verify(&credentials, session::peer(&parts).address).await?;
    let id = fields.get("mid").cloned().unwrap_or_default();
    let kwargs = Map::from_iter([("id_".into(), id)]);
    let local = ControllerCall { function: "key.gen_accept".into(), kwargs, ..ControllerCall::default() };
    let ran = clients::ran(api.requests.answer(&caller, request::Request::Wheel(local)).await)?;
    let text = ran.into_value().to_string();
    Err(Refused::new(StatusCode::NOT_IMPLEMENTED, text))
}
