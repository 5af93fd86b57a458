//! Health, version, statistics and reload of the daemon.

use axum::http::{HeaderValue, header};
use rocksalt_core::request::Request;
use rocksalt_core::{Value, json};
use schemars::JsonSchema;
use serde::Serialize;

use super::call::{ApiCall, Empty};
use super::error::ApiError;
use super::reply::{ApiReply, NoContent};
use crate::requests::RequestResult;

type EmptyCall = ApiCall<Empty, Empty, Empty>;

/// The daemon runs.
#[derive(Serialize, JsonSchema)]
pub struct Health {
    status: &'static str,
}

pub async fn health(_: EmptyCall) -> Result<ApiReply<Health>, ApiError> {
    Ok(ApiReply::new(Health { status: "ok" }))
}

pub async fn document(_: EmptyCall) -> Result<ApiReply<Value>, ApiError> {
    let reply = ApiReply::new(json::from_json(super::document().clone()));
    Ok(reply.header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache")))
}

/// The daemon's version.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Version")]
pub struct VersionView {
    version: &'static str,
    /// The version of this API.
    api: u32,
    pid: u32,
}

pub async fn version(_: EmptyCall) -> Result<ApiReply<VersionView>, ApiError> {
    Ok(ApiReply::new(VersionView { version: env!("CARGO_PKG_VERSION"), api: 1, pid: std::process::id() }))
}

pub async fn stats(call: EmptyCall) -> Result<ApiReply<Value>, ApiError> {
    match call.answer(Request::Stats).await? {
        RequestResult::Value(stats) => Ok(ApiReply::new(stats)),
        _ => Err(ApiError::internal()),
    }
}

pub async fn reload(call: EmptyCall) -> Result<NoContent, ApiError> {
    call.answer(Request::Reload).await?;
    Ok(NoContent { headers: Vec::new() })
}
