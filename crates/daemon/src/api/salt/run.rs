//! `/run`: commands with credentials, without a session.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use rocksalt_core::Map;

use super::low::LowChunk;
use super::reply::{ErrorResponse, ResponseFormat};
use super::{body, clients, halite, login, session};
use crate::api::Api;
use crate::requests::Caller;

pub async fn run(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, content) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let content = body::read(content, api.settings.max_request_body_size).await?;
    let chunks = body::chunks(body::parse(&parts.headers, &content)?)?;
    let is_halite = |chunk: &Map| !chunk.contains_key("client");
    if api.settings.halite && !chunks.is_empty() && chunks.iter().all(is_halite) {
        return halite::run(&api, &parts, chunks).await;
    }
    if chunks.is_empty() {
        return Err(ErrorResponse::unauthorized("No permission -- each command must have a token or credentials"));
    }
    // Authenticate all commands before running any.
    let mut ready: Vec<(Caller, LowChunk)> = Vec::new();
    for fields in chunks {
        let caller = match fields.get("token") {
            Some(token) if token.truth() => session::by_token(&api, &parts, &token.to_string()).await?.caller,
            _ => match login::credentials(&fields) {
                Some(credentials) => api.requests.auth.verify(&credentials, session::peer(&parts).address).await?,
                None => match session::peer(&parts).local {
                    Some(caller) => caller,
                    None => return Err(ErrorResponse::unauthorized("No permission -- see authorization schemes")),
                },
            },
        };
        ready.push((caller, LowChunk::read(fields)?));
    }
    let mut results = Vec::new();
    for (caller, chunk) in ready {
        results.extend(clients::run_chunk(&api, &caller, &chunk).await?);
    }
    Ok(format.all(results))
}
