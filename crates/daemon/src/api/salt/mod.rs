//! Salt's own API (rest_cherrypy), and Halite's: what their clients rely on, word by word.
//!
//! The way of a request: [`door`] lets it in, [`session`] finds out who asks, [`body`] reads what is asked, [`low`] makes
//! requests to the request service of it and [`shape`] gives the answers Salt's form.

mod door;

mod body;
mod reply;
mod session;

mod clients;
mod low;
mod shape;

mod events;
mod halite;
mod hook;
mod jobs;
mod keys;
mod login;
mod minions;
mod root;
mod run;
mod stats;
mod web;
mod ws;

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};

use super::routes::{Login, Route};
use super::{Api, Settings};

/// A route with what answers it.
struct Row {
    route: Route,
    /// Only where the configuration has Halite's endpoints.
    halite: bool,
    handler: fn() -> MethodRouter<Arc<Api>>,
}

const fn row(method: &'static str, path: &'static str, needs: Login, handler: fn() -> MethodRouter<Arc<Api>>) -> Row {
    Row { route: Route { method, path, needs }, halite: false, handler }
}

const fn halite(
    method: &'static str,
    path: &'static str,
    needs: Login,
    handler: fn() -> MethodRouter<Arc<Api>>,
) -> Row {
    Row { route: Route { method, path, needs }, halite: true, handler }
}

/// The one list of what there is; the router is made of it, and the tests go through it.
const ROWS: &[Row] = &[
    row("GET", "/", Login::Nobody, || get(root::welcome)),
    row("POST", "/", Login::Token, || post(root::run)),
    row("GET", "/login", Login::Nobody, || get(login::please)),
    row("POST", "/login", Login::Body, || post(login::login)),
    row("POST", "/logout", Login::Token, || post(login::logout)),
    row("GET", "/minions", Login::Token, || get(minions::all)),
    row("GET", "/minions/{id}", Login::Token, || get(minions::one)),
    row("POST", "/minions", Login::Token, || post(minions::start)),
    row("GET", "/jobs", Login::Token, || get(jobs::all)),
    row("GET", "/jobs/{jid}", Login::Token, || get(jobs::one)),
    row("GET", "/keys", Login::Token, || get(keys::all)),
    row("GET", "/keys/{id}", Login::Token, || get(keys::one)),
    row("POST", "/keys", Login::Body, || post(keys::make)),
    row("POST", "/token", Login::Body, || post(login::token)),
    row("POST", "/run", Login::Body, || post(run::run)),
    row("GET", "/events", Login::Token, || get(events::events)),
    row("GET", "/ws", Login::Token, || get(ws::listen)),
    row("POST", "/hook", Login::Token, || post(hook::bare)),
    row("POST", "/hook/{*path}", Login::Token, || post(hook::named)),
    row("GET", "/stats", Login::Token, || get(stats::stats)),
    halite("GET", "/ws/{token}", Login::Token, || get(ws::listen_with)),
    halite("POST", "/run/{token}", Login::Token, || post(halite::run_with)),
    halite("GET", "/event/{token}", Login::Token, || get(halite::events)),
    halite("POST", "/signature", Login::Token, || post(halite::signature)),
    halite("POST", "/signature/{token}", Login::Token, || post(halite::signature_with)),
    halite("POST", "/fire", Login::Token, || post(halite::fire)),
    halite("POST", "/fire/{token}", Login::Token, || post(halite::fire_with)),
];

/// What there is, with what each needs; those that a setting turns on are among them.
pub fn routes() -> Vec<Route> {
    ROWS.iter().map(|row| row.route).collect()
}

pub fn router(api: &Arc<Api>) -> Router<Arc<Api>> {
    let settings = &api.settings;
    let mut router = Router::new();
    for row in ROWS.iter().filter(|row| settings.halite || !row.halite) {
        router = router.route(row.route.path, (row.handler)());
    }
    with_files(router, settings)
        .fallback(web::nothing)
        .method_not_allowed_fallback(web::wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(api), door::through))
}

/// The files of a page: nobody has to log in to get the page on which they log in.
fn with_files(mut router: Router<Arc<Api>>, settings: &Settings) -> Router<Arc<Api>> {
    if settings.static_files.is_some() {
        let path = format!("{}/{{*path}}", settings.static_path.trim_end_matches('/'));
        router = router.route(&path, get(web::file)).route("/favicon.ico", get(web::icon));
    }
    if settings.app.is_some() {
        let path = settings.app_path.trim_end_matches('/');
        router = router.route(path, get(web::app)).route(&format!("{path}/{{*rest}}"), get(web::app));
    }
    router
}
