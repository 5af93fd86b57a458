//! `/`: a welcome message, and commands.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use rocksalt_core::{Map, Value};

use super::low::LowChunk;
use super::reply::{ErrorResponse, ResponseFormat};
use super::{body, clients, session};
use crate::api::Api;

pub async fn welcome(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let format = ResponseFormat::negotiate(request.headers())?;
    let clients = api.settings.clients.iter().map(|client| client.as_str().into()).collect();
    let mut answer = Map::new();
    answer.insert("return", "Welcome");
    answer.insert("clients", Value::List(clients));
    Ok(format.reply(&answer.into()))
}

pub async fn run(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    // Authenticate before reading the body (`docs/security-rules.md#r1`).
    let session = session::authenticate(&api, &parts).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let chunk = LowChunk::read(fields)?;
        results.extend(clients::run_chunk(&api, &session.caller, &chunk).await?);
    }
    Ok(format.all(results))
}
