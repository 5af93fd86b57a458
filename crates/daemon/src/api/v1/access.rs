//! Explains access decisions.

use rocksalt_core::Value;
use rocksalt_core::request::Request;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::reply::ApiReply;
use crate::requests::RequestResult;

/// A user and a call to explain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainQuery {
    #[schemars(length(min = 1, max = 256))]
    user: String,
    /// As in `cmd.run`; `@runner/jobs.active` and `@wheel/key.list_all` for functions of the controller.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    /// A compound target.
    #[serde(default = "all")]
    #[schemars(length(min = 1, max = 4096))]
    target: String,
}

impl ApiInput for ExplainQuery {}

fn all() -> String {
    "*".into()
}

pub async fn explain(call: ApiCall<Empty, ExplainQuery, Empty>) -> Result<ApiReply<Value>, ApiError> {
    let ExplainQuery { user, function, target } = &call.query;
    let request = Request::Explain { user: user.clone(), function: function.clone(), target: target.clone() };
    match call.answer(request).await? {
        RequestResult::Value(explanation) => Ok(ApiReply::new(explanation)),
        _ => Err(ApiError::internal()),
    }
}
