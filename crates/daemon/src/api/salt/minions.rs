//! `/minions`: targets with their grains, and jobs on them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use rocksalt_core::request::RunRequest;
use rocksalt_core::{Map, Value};

use super::low::LowChunk;
use super::reply::{ErrorResponse, ResponseFormat};
use super::{body, clients, session, shape};
use crate::api::Api;

pub async fn all(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    grains(&api, request, "*".into()).await
}

pub async fn one(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    grains(&api, request, id).await
}

async fn grains(api: &Api, request: Request, target: String) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(api, &parts).await?;
    let run =
        RunRequest { function: "grains.items".into(), target, target_kind: "glob".into(), ..RunRequest::default() };
    let results = match clients::wait(api, &session.caller, run).await? {
        Some((job, returns)) => shape::local(&job, returns, false),
        None => Map::new(),
    };
    Ok(format.returned(vec![Value::Map(results)]))
}

/// Starts jobs without waiting for them.
pub async fn start(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let session = session::authenticate(&api, &parts).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let (mut results, mut links) = (Vec::new(), Vec::new());
    for mut fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        fields.insert("client", "local_async");
        for result in clients::run_chunk(&api, &session.caller, &LowChunk::read(fields)?).await? {
            let result = result.into_value();
            if let Some(jid) = result.as_map().and_then(|map| map.get("jid")) {
                links.push(Value::Map(Map::from_iter([("href".into(), format!("/jobs/{jid}").into())])));
            }
            results.push(result);
        }
    }
    let mut answer = Map::new();
    answer.insert("return", results);
    answer.insert("_links", Map::from_iter([("jobs".into(), links.into())]));
    let mut response = format.reply(&answer.into());
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}
