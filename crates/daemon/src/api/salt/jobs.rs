//! `/jobs`: jobs and their results.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use rocksalt_core::request::{self, ControllerCall};
use rocksalt_core::{Map, Value};

use super::reply::{ErrorResponse, ResponseFormat};
use super::{clients, session};
use crate::api::Api;
use crate::requests::Caller;

pub async fn all(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(&api, &parts).await?;
    Ok(format.returned(vec![runner(&api, &session.caller, "jobs.list_jobs", None).await?]))
}

pub async fn one(
    State(api): State<Arc<Api>>,
    Path(jid): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(&api, &parts).await?;
    let info = runner(&api, &session.caller, "jobs.list_job", Some(&jid)).await?;
    let mut results = runner(&api, &session.caller, "jobs.lookup_jid", Some(&jid)).await?;
    // With an outputter the results are one level deeper.
    if let Value::Map(map) = &mut results
        && info.as_map().and_then(|info| info.get("Error")).is_none()
        && map.len() == 2
        && map.contains_key("outputter")
        && let Some(data) = map.remove("data")
    {
        results = data;
    }
    let mut answer = Map::new();
    answer.insert("info", vec![info]);
    answer.insert("return", vec![results]);
    Ok(format.reply(&answer.into()))
}

async fn runner(api: &Api, caller: &Caller, function: &str, jid: Option<&str>) -> Result<Value, ErrorResponse> {
    let args = jid.map(Value::from).into_iter().collect();
    let local = ControllerCall { function: function.into(), args, ..ControllerCall::default() };
    let ran = clients::function_result(api.requests.answer(caller, request::Request::Runner(local)).await)?;
    Ok(ran.into_value())
}
