//! Our own API, with an OpenAPI document.
//!
//! [`endpoints`] is the one list of what there is: the router, the document and the tests are made from it. To add
//! something: a handler in the file of its noun, and a line in the list.

mod asked;
mod endpoint;
mod fault;
mod openapi;
mod query;
mod reply;
mod schema;
mod shapes;
mod stream;
mod who;

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
use self::fault::Fault;
use super::Api;
use super::routes::Route;

/// Before every path.
pub const BASE: &str = "/v1";

static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(endpoints);
static DOCUMENT: LazyLock<Json> = LazyLock::new(|| openapi::document(&ENDPOINTS));

fn endpoints() -> Vec<Endpoint> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    vec![
        Endpoint::new(get.clone(), "/health", "Whether the daemon is there", this::health).open(),
        Endpoint::new(get.clone(), "/openapi.json", "This document", this::document).open(),
        Endpoint::new(get.clone(), "/version", "What the daemon is", this::version),
        Endpoint::new(get.clone(), "/stats", "What the daemon has done so far", this::stats),
        Endpoint::new(post.clone(), "/reload", "Read the configuration and the roster anew", this::reload),
        Endpoint::new(post.clone(), "/sessions", "Log in", sessions::login)
            .with_credentials()
            .example(json!({"username": "admin", "password": "a long one", "eauth": "file"})),
        Endpoint::new(get.clone(), "/session", "Who I am, and what I may do", sessions::who),
        Endpoint::new(delete, "/session", "Log out", sessions::logout),
        Endpoint::new(get.clone(), "/targets", "The targets, and what is known of them", targets::list),
        Endpoint::new(get.clone(), "/targets/{id}", "One target, with its grains", targets::one),
        Endpoint::new(get.clone(), "/functions", "Functions that run on targets", functions::list),
        Endpoint::new(get.clone(), "/functions/{name}", "One function, with its arguments", functions::one),
        Endpoint::new(get.clone(), "/states", "States", functions::list_states),
        Endpoint::new(get.clone(), "/states/{name}", "One state, with its arguments", functions::one_state),
        Endpoint::new(post.clone(), "/jobs", "Start a job", jobs::start)
            .records()
            .example(json!({"function": "test.ping", "target": "*"})),
        Endpoint::new(get.clone(), "/jobs", "Jobs, the newest first", jobs::list).records(),
        Endpoint::new(get.clone(), "/jobs/{jid}", "One job, with its returns", jobs::one).records(),
        Endpoint::new(get.clone(), "/jobs/{jid}/returns/{target}", "What one target returned", jobs::returned)
            .records(),
        Endpoint::new(post.clone(), "/jobs/{jid}/cancel", "Stop a job", jobs::cancel).example(json!({"kill": false})),
        Endpoint::new(post.clone(), "/jobs/{jid}/rerun", "The same again", jobs::rerun)
            .records()
            .example(json!({"failed": true})),
        Endpoint::new(get.clone(), "/jobs/{jid}/follow", "What a job does, until it has ended", follow::follow),
        Endpoint::new(post.clone(), "/runner", "A function about targets and jobs", own::runner)
            .patient()
            .example(json!({"function": "jobs.active"})),
        Endpoint::new(post.clone(), "/wheel", "A function about the controller", own::wheel)
            .patient()
            .example(json!({"function": "key.list_all"})),
        Endpoint::new(get.clone(), "/events", "Events of the log", events::page),
        Endpoint::new(post, "/events", "Put an event into the log", events::fire)
            .example(json!({"tag": "my/deploy", "data": {"version": 7}})),
        Endpoint::new(get.clone(), "/events/stream", "Events as they come", events::listen),
        Endpoint::new(get, "/access/explain", "Why somebody may do something, or may not", access::explain),
    ]
}

pub fn router() -> Router<Arc<Api>> {
    let nothing = || async { Fault::not_found("there is nothing here; /v1/openapi.json says what there is") };
    let router =
        ENDPOINTS.iter().fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.handler()));
    // The second is for the routes that are there already.
    router.fallback(nothing).method_not_allowed_fallback(|| async { Fault::not_allowed() })
}

/// Every method of every path, for tests that must not forget any.
pub fn routes() -> Vec<Route> {
    ENDPOINTS.iter().map(Endpoint::route).collect()
}

/// The OpenAPI document.
pub fn document() -> &'static Json {
    &DOCUMENT
}

#[cfg(test)]
mod tests;
