//! Our own API, with an OpenAPI document.
//!
//! [`endpoints`] lists all endpoints; the router, the document and the tests are built from it. To add one: a handler in
//! the file of its noun, and a line in the list.

mod call;
mod endpoint;
mod error;
mod identity;
mod openapi;
mod query;
mod reply;
mod schema;
mod stream;
mod views;

mod access;
mod events;
mod follow;
mod functions;
mod jobs;
mod own;
mod sessions;
mod targets;
mod this;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::Method;
use serde_json::{Value as Json, json};

use self::endpoint::Endpoint;
use self::error::ApiError;
use super::Api;
use super::routes::ApiRoute;

/// Prefix of all paths.
pub const BASE: &str = "/v1";

static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(endpoints);
static DOCUMENT: LazyLock<Json> = LazyLock::new(|| openapi::document(&ENDPOINTS));

fn endpoints() -> Vec<Endpoint> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    vec![
        Endpoint::new(get.clone(), "/health", "Whether the daemon runs", this::health).open(),
        Endpoint::new(get.clone(), "/openapi.json", "This document", this::document).open(),
        Endpoint::new(get.clone(), "/version", "The daemon's version", this::version),
        Endpoint::new(get.clone(), "/stats", "Counters since the start", this::stats),
        Endpoint::new(post.clone(), "/reload", "Reload the configuration and the roster", this::reload),
        Endpoint::new(post.clone(), "/sessions", "Log in", sessions::login)
            .with_credentials()
            .example(json!({"username": "admin", "password": "a long one", "eauth": "file"})),
        Endpoint::new(get.clone(), "/session", "The current user and permissions", sessions::who),
        Endpoint::new(delete, "/session", "Log out", sessions::logout),
        Endpoint::new(get.clone(), "/targets", "Targets and their state", targets::list),
        Endpoint::new(get.clone(), "/targets/{id}", "One target, with its grains", targets::one),
        Endpoint::new(get.clone(), "/functions", "Functions that run on targets", functions::list),
        Endpoint::new(get.clone(), "/functions/{name}", "One function, with its arguments", functions::one),
        Endpoint::new(get.clone(), "/states", "States", functions::list_states),
        Endpoint::new(get.clone(), "/states/{name}", "One state, with its arguments", functions::one_state),
        Endpoint::new(post.clone(), "/jobs", "Start a job", jobs::start)
            .records()
            .example(json!({"function": "test.ping", "target": "*"})),
        Endpoint::new(get.clone(), "/jobs", "Jobs, newest first", jobs::list).records(),
        Endpoint::new(get.clone(), "/jobs/{jid}", "One job, with its returns", jobs::one).records(),
        Endpoint::new(get.clone(), "/jobs/{jid}/returns/{target}", "The return of one target", jobs::returned)
            .records(),
        Endpoint::new(post.clone(), "/jobs/{jid}/cancel", "Cancel a job", jobs::cancel).example(json!({"kill": false})),
        Endpoint::new(post.clone(), "/jobs/{jid}/rerun", "Run a job again", jobs::rerun)
            .records()
            .example(json!({"failed": true})),
        Endpoint::new(get.clone(), "/jobs/{jid}/follow", "Follow a job until it ends", follow::follow),
        Endpoint::new(post.clone(), "/runner", "Call a runner function", own::runner)
            .unlimited()
            .example(json!({"function": "jobs.active"})),
        Endpoint::new(post.clone(), "/wheel", "Call a wheel function", own::wheel)
            .unlimited()
            .example(json!({"function": "key.list_all"})),
        Endpoint::new(get.clone(), "/events", "Stored events", events::page),
        Endpoint::new(post, "/events", "Fire an event", events::fire)
            .example(json!({"tag": "my/deploy", "data": {"version": 7}})),
        Endpoint::new(get.clone(), "/events/stream", "Stream events", events::listen),
        Endpoint::new(get, "/access/explain", "Explain an access decision", access::explain),
    ]
}

pub fn router() -> Router<Arc<Api>> {
    let not_found = || async { ApiError::not_found("not found; /v1/openapi.json lists all paths") };
    let router =
        ENDPOINTS.iter().fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.handler()));
    // The second fallback is for other methods of existing paths.
    router.fallback(not_found).method_not_allowed_fallback(|| async { ApiError::not_allowed() })
}

/// All routes, for tests.
pub fn routes() -> Vec<ApiRoute> {
    ENDPOINTS.iter().map(Endpoint::route).collect()
}

/// The OpenAPI document.
pub fn document() -> &'static Json {
    &DOCUMENT
}

#[cfg(test)]
mod tests;
