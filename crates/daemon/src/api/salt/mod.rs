//! Salt's own API (rest_cherrypy), and Halite's.

use std::sync::Arc;

use axum::Router;

use super::Api;

pub fn router() -> Router<Arc<Api>> {
    Router::new()
}
