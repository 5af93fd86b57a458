//! Salt's API (rest_cherrypy) and Halite's, exactly as their clients rely on them.
//!
//! The path of a request: [`middleware`], [`session`] (who is the caller), [`body`] (parsing), [`low`] (low data to
//! requests), and [`shape`] (results in Salt's format).

mod middleware;

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
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use super::routes::{ApiRoute, RouteAuth};
use super::{Api, Settings};

/// A route with its handler.
struct SaltRoute {
    route: ApiRoute,
    /// Only if the configuration enables Halite's endpoints.
    halite: bool,
    handler: fn() -> MethodRouter<Arc<Api>>,
}

const fn salt_route(
    method: &'static str,
    path: &'static str,
    needs: RouteAuth,
    handler: fn() -> MethodRouter<Arc<Api>>,
) -> SaltRoute {
    SaltRoute { route: ApiRoute { method, path, needs }, halite: false, handler }
}

const fn halite(
    method: &'static str,
    path: &'static str,
    needs: RouteAuth,
    handler: fn() -> MethodRouter<Arc<Api>>,
) -> SaltRoute {
    SaltRoute { route: ApiRoute { method, path, needs }, halite: true, handler }
}

/// All routes. The router is built from this list, and tests walk it.
const ROUTES: &[SaltRoute] = &[
    salt_route("GET", "/", RouteAuth::None, || get(root::welcome)),
    salt_route("POST", "/", RouteAuth::Token, || post(root::run)),
    salt_route("GET", "/login", RouteAuth::None, || get(login::prompt)),
    salt_route("POST", "/login", RouteAuth::Body, || post(login::login)),
    salt_route("POST", "/logout", RouteAuth::Token, || post(login::logout)),
    salt_route("GET", "/minions", RouteAuth::Token, || get(minions::all)),
    salt_route("GET", "/minions/{id}", RouteAuth::Token, || get(minions::one)),
    salt_route("POST", "/minions", RouteAuth::Token, || post(minions::start)),
    salt_route("GET", "/jobs", RouteAuth::Token, || get(jobs::all)),
    salt_route("GET", "/jobs/{jid}", RouteAuth::Token, || get(jobs::one)),
    salt_route("GET", "/keys", RouteAuth::Token, || get(keys::all)),
    salt_route("GET", "/keys/{id}", RouteAuth::Token, || get(keys::one)),
    salt_route("POST", "/keys", RouteAuth::Body, || post(keys::generate)),
    salt_route("POST", "/token", RouteAuth::Body, || post(login::token)),
    salt_route("POST", "/run", RouteAuth::Body, || post(run::run)),
    salt_route("GET", "/events", RouteAuth::Token, || get(events::events)),
    salt_route("GET", "/ws", RouteAuth::Token, || get(ws::listen)),
    salt_route("POST", "/hook", RouteAuth::Token, || post(hook::bare)),
    salt_route("POST", "/hook/{*path}", RouteAuth::Token, || post(hook::named)),
    salt_route("GET", "/stats", RouteAuth::Token, || get(stats::stats)),
    halite("GET", "/ws/{token}", RouteAuth::Token, || get(ws::listen_with)),
    halite("POST", "/run/{token}", RouteAuth::Token, || post(halite::run_with)),
    halite("GET", "/event/{token}", RouteAuth::Token, || get(halite::events)),
    halite("POST", "/signature", RouteAuth::Token, || post(halite::signature)),
    halite("POST", "/signature/{token}", RouteAuth::Token, || post(halite::signature_with)),
    halite("POST", "/fire", RouteAuth::Token, || post(halite::fire)),
    halite("POST", "/fire/{token}", RouteAuth::Token, || post(halite::fire_with)),
];

/// All routes, also those that a setting enables.
pub fn routes() -> Vec<ApiRoute> {
    ROUTES.iter().map(|salt_route| salt_route.route).collect()
}

pub fn router(api: &Arc<Api>) -> Router<Arc<Api>> {
    let settings = &api.settings;
    let mut router = Router::new();
    for salt_route in ROUTES.iter().filter(|salt_route| settings.halite || !salt_route.halite) {
        router = router.route(salt_route.route.path, (salt_route.handler)());
    }
    with_files(router, settings)
        .fallback(web::not_found)
        .method_not_allowed_fallback(web::wrong_method)
        .layer(from_fn_with_state(Arc::clone(api), middleware::filter))
}

/// Serves the files of a web page without authentication, because the login is on that page.
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
