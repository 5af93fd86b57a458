//! Each value of `client`: what is asked of the request service, and what becomes of the answer.

use std::future::Future;
use std::time::Duration;

use axum::http::StatusCode;
use rocksalt_core::record::{JobRecord, ReturnRecord};
use rocksalt_core::request::{Request, RunRequest};
use rocksalt_core::{Map, Value};
use tokio::time::timeout;

use super::low::Chunk;
use super::reply::Refused;
use super::shape;
use crate::api::Api;
use crate::requests::{Answer, Caller, ControllerResult, FunctionResult, Refusal};

/// Does a chunk; most give one result, a batch one for each target.
pub async fn perform(api: &Api, caller: &Caller, chunk: &Chunk) -> Result<Vec<FunctionResult>, Refused> {
    if !api.settings.clients.contains(&chunk.client) {
        return Err(match KNOWN.contains(&chunk.client.as_str()) {
            true => Refused::bad(format!("the client '{}' is turned off here", chunk.client)),
            false => {
                let shown: String = chunk.client.chars().take(60).collect();
                Refused::bad(format!("Invalid client specified: '{shown}'"))
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
        "runner" => shape::runner(in_time(chunk, runner(api, caller, chunk, false)).await?, chunk.full_return),
        "runner_async" => shape::background(&runner(api, caller, chunk, true).await?).into(),
        "wheel" => shape::wheel(in_time(chunk, wheel(api, caller, chunk, false)).await?).into(),
        "wheel_async" => shape::background(&wheel(api, caller, chunk, true).await?).into(),
        _ => return Err(Refused::bad("Invalid client specified")),
    };
    Ok(vec![result])
}

pub const KNOWN: [&str; 9] =
    ["local", "local_async", "local_batch", "local_subset", "runner", "runner_async", "ssh", "wheel", "wheel_async"];

/// One function, or several after each other, whose results are then under their names.
async fn local(api: &Api, caller: &Caller, chunk: &Chunk) -> Result<Value, Refused> {
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
        // The id can only be that of the first.
        run.job = run.job.filter(|_| number == 0);
        let Some((job, returns)) = wait(api, caller, run).await? else { return Ok(Map::new().into()) };
        for (id, result) in shape::local(&job, returns, chunk.full_return) {
            let Some(id) = id.as_str() else { continue };
            add(all.entry(id), &function, result, chunk.full_return);
        }
    }
    Ok(all.into())
}

/// Puts the result of one function of a list to the others of the same target.
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
        // No result of this one: there is none of the target.
        Value::Bool(false) if full => *place = Value::Bool(false),
        other => {
            shown.insert(function, other);
        }
    }
}

fn single(chunk: &Chunk) -> Result<RunRequest, Refused> {
    match &chunk.functions()?[..] {
        [function] => chunk.run(function.clone(), None),
        _ => Err(Refused::bad(format!("a list of functions can be run by the client local, not by {}", chunk.client))),
    }
}

pub async fn start(api: &Api, caller: &Caller, run: RunRequest) -> Result<Option<JobRecord>, Refused> {
    match api.requests.answer(caller, Request::Run(Box::new(run))).await? {
        Answer::Started(job) => Ok(Some(*job)),
        Answer::Nobody => Ok(None),
        _ => Err(unexpected()),
    }
}

/// Starts it, and waits for all of its targets, however long that takes.
pub async fn wait(
    api: &Api,
    caller: &Caller,
    run: RunRequest,
) -> Result<Option<(JobRecord, Vec<ReturnRecord>)>, Refused> {
    let Some(job) = start(api, caller, run).await? else { return Ok(None) };
    let returns = api.requests.wait(&job, None).await?;
    Ok(Some((job, returns)))
}

async fn runner(api: &Api, caller: &Caller, chunk: &Chunk, background: bool) -> Result<ControllerResult, Refused> {
    ran(api.requests.answer(caller, Request::Runner(chunk.local(background)?)).await)
}

async fn wheel(api: &Api, caller: &Caller, chunk: &Chunk, background: bool) -> Result<ControllerResult, Refused> {
    ran(api.requests.answer(caller, Request::Wheel(chunk.local(background)?)).await)
}

pub fn ran(answer: Result<Answer, Refusal>) -> Result<ControllerResult, Refused> {
    match answer? {
        Answer::ControllerResult(ran) => Ok(ran),
        _ => Err(unexpected()),
    }
}

/// The limit that the asker gave; the function itself goes on.
async fn in_time(
    chunk: &Chunk,
    working: impl Future<Output = Result<ControllerResult, Refused>>,
) -> Result<ControllerResult, Refused> {
    let Some(seconds) = chunk.timeout else { return working.await };
    let late = |_| Refused::new(StatusCode::GATEWAY_TIMEOUT, format!("no result within {seconds} seconds"));
    timeout(Duration::from_secs_f64(seconds.min(1e6)), working).await.map_err(late)?
}

pub fn unexpected() -> Refused {
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "An unexpected error occurred")
}
