//! `/stats`: counters of the daemon.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use rocksalt_core::request;

use super::reply::{ErrorResponse, ResponseFormat};
use super::{clients, session};
use crate::api::Api;
use crate::requests::RequestResult;

pub async fn stats(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    let (parts, _) = request.into_parts();
    let format = ResponseFormat::negotiate(&parts.headers)?;
    let caller = match api.settings.stats_disable_auth {
        true => session::unauthenticated(&parts, "stats"),
        false => session::authenticate(&api, &parts).await?.caller,
    };
    match api.requests.answer(&caller, request::Request::Stats).await? {
        RequestResult::Value(value) => Ok(format.reply(&value)),
        _ => Err(clients::unexpected()),
    }
}
