//! `/`: a greeting, and commands.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use rocksalt_core::{Map, Value};

use super::low::Chunk;
use super::reply::{Form, Refused};
use super::{body, clients, session};
use crate::api::Api;

pub async fn welcome(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    let form = Form::wanted(request.headers())?;
    let clients = api.settings.clients.iter().map(|client| client.as_str().into()).collect();
    let mut answer = Map::new();
    answer.insert("return", "Welcome");
    answer.insert("clients", Value::List(clients));
    Ok(form.reply(&answer.into()))
}

pub async fn run(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    let (parts, content) = request.into_parts();
    let form = Form::wanted(&parts.headers)?;
    // Who asks comes before what is asked (rule R1).
    let session = session::of(&api, &parts).await?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let mut results = Vec::new();
    for fields in body::chunks(body::parse(&parts.headers, &content)?)? {
        let chunk = Chunk::read(fields)?;
        results.extend(clients::perform(&api, &session.caller, &chunk).await?);
    }
    Ok(form.all(results))
}
