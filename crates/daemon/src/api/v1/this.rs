//! The daemon itself.

use axum::http::{HeaderValue, header};
use rocksalt_core::request::Request;
use rocksalt_core::{Value, json};
use schemars::JsonSchema;
use serde::Serialize;

use super::asked::{Asked, Nothing};
use super::fault::Fault;
use super::reply::{Done, Reply};
use crate::requests::Answer;

type Plain = Asked<Nothing, Nothing, Nothing>;

/// It is there.
#[derive(Serialize, JsonSchema)]
pub struct Health {
    status: &'static str,
}

pub async fn health(_: Plain) -> Result<Reply<Health>, Fault> {
    Ok(Reply::new(Health { status: "ok" }))
}

pub async fn document(_: Plain) -> Result<Reply<Value>, Fault> {
    let reply = Reply::new(json::from_json(super::document().clone()));
    Ok(reply.header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache")))
}

/// What the daemon is.
#[derive(Serialize, JsonSchema)]
pub struct Version {
    version: &'static str,
    /// The version of this API.
    api: u32,
    pid: u32,
}

pub async fn version(_: Plain) -> Result<Reply<Version>, Fault> {
    Ok(Reply::new(Version { version: env!("CARGO_PKG_VERSION"), api: 1, pid: std::process::id() }))
}

pub async fn stats(asked: Plain) -> Result<Reply<Value>, Fault> {
    match asked.answer(Request::Stats).await? {
        Answer::Value(stats) => Ok(Reply::new(stats)),
        _ => Err(Fault::internal()),
    }
}

pub async fn reload(asked: Plain) -> Result<Done, Fault> {
    asked.answer(Request::Reload).await?;
    Ok(Done { headers: Vec::new() })
}
