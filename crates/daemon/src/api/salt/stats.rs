//! `/stats`: what the daemon has done so far.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use rocksalt_core::request;

use super::reply::{Form, Refused};
use super::{clients, session};
use crate::api::Api;
use crate::requests::Answer;

pub async fn stats(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let form = Form::wanted(&parts.headers)?;
    let caller = match api.settings.stats_disable_auth {
        true => session::anybody(&parts, "stats"),
        false => session::of(&api, &parts).await?.caller,
    };
    match api.requests.answer(&caller, request::Request::Stats).await? {
        Answer::Value(value) => Ok(form.reply(&value)),
        _ => Err(clients::unexpected()),
    }
}
