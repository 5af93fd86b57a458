//! Functions of the controller itself: what Salt calls runners and wheel functions.

use std::sync::Arc;
use std::time::Duration;

use rocksalt_core::request::{ControllerCall, Request};
use rocksalt_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Asked, Input, Nothing};
use super::fault::Fault;
use super::reply::Reply;
use super::shapes::{Jid, seconds};
use crate::requests::{Answer, FunctionResult};

/// A function of the controller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// As in `jobs.active`.
    #[schemars(length(min = 1, max = 256))]
    function: String,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    kwargs: Map,
    /// Answer at once; the event `<tag>/ret` tells the rest.
    #[serde(default)]
    background: bool,
    /// Seconds to wait for it; it goes on beyond.
    #[serde(default = "minutes")]
    #[schemars(range(min = 1, max = 86_400))]
    timeout: f64,
}

impl Input for Call {}

fn minutes() -> f64 {
    300.0
}

/// What a function of the controller did.
#[derive(Serialize, JsonSchema)]
pub struct ControllerResult {
    jid: Jid,
    /// Its events begin so.
    tag: String,
    function: String,
    user: String,
    /// `null` while it goes on.
    result: Value,
    success: bool,
    /// Seconds since 1970.
    time: f64,
}

type Asks = Asked<Nothing, Nothing, Call>;

pub async fn runner(asked: Asks) -> Result<Reply<ControllerResult>, Fault> {
    run(asked, Request::Runner).await
}

pub async fn wheel(asked: Asks) -> Result<Reply<ControllerResult>, Fault> {
    run(asked, Request::Wheel).await
}

async fn run(asked: Asks, kind: fn(ControllerCall) -> Request) -> Result<Reply<ControllerResult>, Fault> {
    let Asked { api, who, body, .. } = asked;
    let caller = who.ok_or_else(Fault::internal)?.caller;
    let limit = Duration::try_from_secs_f64(body.timeout).unwrap_or_default();
    let Call { function, args, kwargs, background, .. } = body;
    let requests = Arc::clone(&api.requests);
    let request = kind(ControllerCall { function, args, kwargs, background });
    // A task of its own: whoever is out of patience doesn't end it in its middle.
    let work = tokio::spawn(async move { requests.answer(&caller, request).await });
    let answer = match tokio::time::timeout(limit, work).await {
        Ok(Ok(answer)) => answer?,
        Ok(Err(error)) => {
            tracing::error!(%error, "a function of the controller broke off");
            return Err(Fault::internal());
        }
        Err(_) => {
            let text = format!("it takes longer than {} s, and goes on", limit.as_secs_f64());
            return Err(Fault::timeout(text).hint("ask with 'background', and listen to its events"));
        }
    };
    let Answer::ControllerResult(ran) = answer else { return Err(Fault::internal()) };
    Ok(Reply::new(ControllerResult {
        jid: Jid(ran.job),
        tag: ran.tag,
        function: ran.function,
        user: ran.user,
        success: ran.success,
        time: seconds(ran.stamp),
        result: ran.result.map(FunctionResult::into_value).unwrap_or_default(),
    }))
}
