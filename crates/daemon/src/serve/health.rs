//! `/healthz` and `/metrics`, for monitoring.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use rocksalt_core::request::Request;
use serde_json::json;

use super::ServerState;
use crate::api::Peer;
use crate::requests::{Caller, RequestResult};

/// Time limit for the store's response.
const STORE_TIMEOUT: Duration = Duration::from_secs(3);

pub fn router(shared: Arc<ServerState>) -> Router {
    Router::new().route("/healthz", get(health)).route("/metrics", get(metrics)).with_state(shared)
}

/// Healthy only if the store responds. Authenticated callers get details.
async fn health(
    State(shared): State<Arc<ServerState>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let healthy = shared.is_healthy().await;
    let status = if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut body = json!({ "status": if healthy { "ok" } else { "the store does not answer" } });
    if let Some(caller) = shared.caller(&peer, &headers).await
        && let Ok(RequestResult::Value(stats)) = shared.requests.answer(&caller, Request::Stats).await
    {
        body["details"] = rocksalt_core::json::to_json(&stats);
    }
    (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

async fn metrics(
    State(shared): State<Arc<ServerState>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let loopback = peer.address.is_none_or(|address| address.is_loopback());
    let open = loopback && !shared.settings.metrics_auth;
    if !open && shared.caller(&peer, &headers).await.is_none() {
        return (StatusCode::UNAUTHORIZED, "log in first").into_response();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = shared.metrics.text(&shared.requests).await;
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], text).into_response()
}

impl ServerState {
    pub(super) async fn is_healthy(&self) -> bool {
        let reading = self.requests.ledger().store().get("health");
        matches!(tokio::time::timeout(STORE_TIMEOUT, reading).await, Ok(Ok(_)))
    }

    /// The caller, if authenticated.
    async fn caller(&self, peer: &Peer, headers: &HeaderMap) -> Option<Caller> {
        if let Some(local) = &peer.local {
            return Some(local.clone());
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        match (text("x-auth-token").or(bearer), &peer.certificate) {
            (Some(token), _) => self.requests.auth.token(token, peer.address).await.ok(),
            (None, Some(name)) => self.requests.auth.certificate(name, peer.address).await.ok(),
            (None, None) => None,
        }
    }
}
