//! Runner and wheel functions.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_core::request::{ControllerCall, Request};
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{ApiCall, ApiInput, Empty};
use super::error::ApiError;
use super::reply::ApiReply;
use super::views::{Jid, seconds};
use crate::requests::{FunctionResult, RequestResult};

/// A runner or wheel function to call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
pub struct FunctionCall {
    /// As in `jobs.active`.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    kwargs: Map,
    /// Respond at once; the result comes as event `<tag>/ret`.
    #[serde(default)]
    background: bool,
    /// Seconds to wait for the result; the function continues after that.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 86_400))]
    timeout: f64,
}

impl ApiInput for FunctionCall {}

fn default_timeout() -> f64 {
    300.0
}

/// The result of a runner or wheel function.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Ran")]
pub struct FunctionResultView {
    jid: Jid,
    /// Prefix of its event tags.
    tag: String,
    function: String,
    user: String,
    /// `null` while it runs.
    result: Value,
    success: bool,
    /// Seconds since the Unix epoch.
    time: f64,
}

type FunctionApiCall = ApiCall<Empty, Empty, FunctionCall>;

pub async fn runner(call: FunctionApiCall) -> Result<ApiReply<FunctionResultView>, ApiError> {
    run(call, Request::Runner).await
}

pub async fn wheel(call: FunctionApiCall) -> Result<ApiReply<FunctionResultView>, ApiError> {
    run(call, Request::Wheel).await
}

async fn run(
    call: FunctionApiCall,
    kind: fn(ControllerCall) -> Request,
) -> Result<ApiReply<FunctionResultView>, ApiError> {
    let ApiCall { api, identity, body, .. } = call;
    let caller = identity.ok_or_else(ApiError::internal)?.caller;
    let limit = Duration::try_from_secs_f64(body.timeout).unwrap_or_default();
    let FunctionCall { function, args, kwargs, background, .. } = body;
    let requests = Arc::clone(&api.requests);
    let request = kind(ControllerCall { function, args, kwargs, background });
    // A task of its own, so that a timeout doesn't cancel the function.
    let work = tokio::spawn(async move { requests.answer(&caller, request).await });
    let answer = match tokio::time::timeout(limit, work).await {
        Ok(Ok(answer)) => answer?,
        Ok(Err(error)) => {
            tracing::error!(%error, "a function of the controller was aborted");
            return Err(ApiError::internal());
        }
        Err(_) => {
            let text = format!("no result within {} s; the function continues", limit.as_secs_f64());
            return Err(ApiError::timeout(text).hint("use 'background', and listen to its events"));
        }
    };
    let RequestResult::ControllerResult(ran) = answer else { return Err(ApiError::internal()) };
    Ok(ApiReply::new(FunctionResultView {
        jid: Jid(ran.job),
        tag: ran.tag,
        function: ran.function,
        user: ran.user,
        success: ran.success,
        time: seconds(ran.stamp),
        result: ran.result.map(FunctionResult::into_value).unwrap_or_default(),
    }))
}
