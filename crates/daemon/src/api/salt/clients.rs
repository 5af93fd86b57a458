//! The values of `client`: each makes a request and shapes its response.

use std::future::Future;
use std::time::Duration;

use axum::http::StatusCode;
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{Request, RunRequest};
use rocksalt_core::{Map, Value};
use tokio::time::timeout;

use super::low::LowChunk;
use super::reply::ErrorResponse;
use super::shape;
use crate::api::Api;
use crate::requests::{Caller, ControllerResult, FunctionResult, Refusal, RequestResult};

/// Runs a chunk. Most return one result, a batch one for each target.
pub async fn run_chunk(api: &Api, caller: &Caller, chunk: &LowChunk) -> Result<Vec<FunctionResult>, ErrorResponse> {
    if !api.settings.clients.contains(&chunk.client) {
        return Err(match KNOWN.contains(&chunk.client.as_str()) {
            true => ErrorResponse::bad_request(format!("the client '{}' is disabled here", chunk.client)),
            false => {
                let shown: String = chunk.client.chars().take(60).collect();
                ErrorResponse::bad_request(format!("Invalid client specified: '{shown}'"))
            }
        });
    }
    let result: FunctionResult = match chunk.client.as_str() {
        "local" | "local_subset" => local(api, caller, chunk).await?.into(),
        "local_async" => match start(api, caller, single(chunk)?).await? {
            Some(job) => shape::started(&job).into(),
            None => Map::new().into(),
        },
        "local_batch" => {
            return Ok(match wait(api, caller, single(chunk)?).await? {
                Some((job, returns)) => shape::batch(&job, returns).into_iter().map(FunctionResult::Value).collect(),
                None => Vec::new(),
            });
        }
        "ssh" => match wait(api, caller, single(chunk)?).await? {
            Some((job, returns)) => shape::ssh(&job, returns).into(),
            None => Map::new().into(),
        },
        "runner" => shape::runner(with_timeout(chunk, runner(api, caller, chunk, false)).await?, chunk.full_return),
        "runner_async" => shape::background(&runner(api, caller, chunk, true).await?).into(),
        "wheel" => shape::wheel(with_timeout(chunk, wheel(api, caller, chunk, false)).await?).into(),
        "wheel_async" => shape::background(&wheel(api, caller, chunk, true).await?).into(),
        _ => return Err(ErrorResponse::bad_request("Invalid client specified")),
    };
    Ok(vec![result])
}

pub const KNOWN: [&str; 9] =
    ["local", "local_async", "local_batch", "local_subset", "runner", "runner_async", "ssh", "wheel", "wheel_async"];

/// Runs one function, or several in turn, with the results under their names.
async fn local(api: &Api, caller: &Caller, chunk: &LowChunk) -> Result<Value, ErrorResponse> {
    let functions = chunk.functions()?;
    if let [function] = &functions[..] {
        let run = chunk.run(function.clone(), None)?;
        return Ok(match wait(api, caller, run).await? {
            Some((job, returns)) => shape::local(&job, returns, chunk.full_return).into(),
            None => Map::new().into(),
        });
    }
    let mut all = Map::new();
    for (number, function) in functions.into_iter().enumerate() {
        let mut run = chunk.run(function.clone(), Some(number))?;
        // The job id is for the first function only.
        run.job = run.job.filter(|_| number == 0);
        let Some((job, returns)) = wait(api, caller, run).await? else { return Ok(Map::new().into()) };
        for (id, result) in shape::local(&job, returns, chunk.full_return) {
            let Some(id) = id.as_str() else { continue };
            add(all.entry(id), &function, result, chunk.full_return);
        }
    }
    Ok(all.into())
}

/// Adds the result of one function of a list to the target's results.
fn add(place: &mut Value, function: &str, result: Value, full: bool) {
    if place.is_null() {
        *place = Map::new().into();
    }
    let Value::Map(shown) = place else { return };
    match result {
        Value::Map(mut parts) if full => {
            for name in ["ret", "retcode"] {
                let of_all = shown.entry(name);
                if of_all.is_null() {
                    *of_all = Map::new().into();
                }
                if let (Value::Map(of_all), Some(value)) = (of_all, parts.remove(name)) {
                    of_all.insert(function, value);
                }
            }
            if !shown.contains_key("jid") {
                shown.insert("jid", parts.remove("jid").unwrap_or_default());
            }
        }
        // Without a result of one function there is none of the target.
        Value::Bool(false) if full => *place = Value::Bool(false),
        other => {
            shown.insert(function, other);
        }
    }
}

fn single(chunk: &LowChunk) -> Result<RunRequest, ErrorResponse> {
    match &chunk.functions()?[..] {
        [function] => chunk.run(function.clone(), None),
        _ => Err(ErrorResponse::bad_request(format!(
            "only the client local runs a list of functions, not {}",
            chunk.client
        ))),
    }
}

pub async fn start(api: &Api, caller: &Caller, run: RunRequest) -> Result<Option<JobRecord>, ErrorResponse> {
    match api.requests.answer(caller, Request::Run(Box::new(run))).await? {
        RequestResult::Started(job) => Ok(Some(*job)),
        RequestResult::Nobody => Ok(None),
        _ => Err(unexpected()),
    }
}

/// Starts a job and waits for all of its targets, without a time limit.
pub async fn wait(
    api: &Api,
    caller: &Caller,
    run: RunRequest,
) -> Result<Option<(JobRecord, Vec<ReturnRecord>)>, ErrorResponse> {
    let Some(job) = start(api, caller, run).await? else { return Ok(None) };
    let returns = api.requests.wait(&job, None).await?;
    Ok(Some((job, returns)))
}

async fn runner(
    api: &Api,
    caller: &Caller,
    chunk: &LowChunk,
    background: bool,
) -> Result<ControllerResult, ErrorResponse> {
    function_result(api.requests.answer(caller, Request::Runner(chunk.local(background)?)).await)
}

async fn wheel(
    api: &Api,
    caller: &Caller,
    chunk: &LowChunk,
    background: bool,
) -> Result<ControllerResult, ErrorResponse> {
    function_result(api.requests.answer(caller, Request::Wheel(chunk.local(background)?)).await)
}

pub fn function_result(answer: Result<RequestResult, Refusal>) -> Result<ControllerResult, ErrorResponse> {
    match answer? {
        RequestResult::ControllerResult(ran) => Ok(ran),
        _ => Err(unexpected()),
    }
}

/// Applies the client's timeout; the function itself continues.
async fn with_timeout(
    chunk: &LowChunk,
    running: impl Future<Output = Result<ControllerResult, ErrorResponse>>,
) -> Result<ControllerResult, ErrorResponse> {
    let Some(seconds) = chunk.timeout else { return running.await };
    let late = |_| ErrorResponse::new(StatusCode::GATEWAY_TIMEOUT, format!("no result within {seconds} seconds"));
    timeout(Duration::from_secs_f64(seconds.min(1e6)), running).await.map_err(late)?
}

pub fn unexpected() -> ErrorResponse {
    ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, "An unexpected error occurred")
}
