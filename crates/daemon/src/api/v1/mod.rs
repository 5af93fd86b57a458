//! Our own API, with an OpenAPI document.

use std::sync::Arc;

use axum::Router;

use super::Api;

pub fn router() -> Router<Arc<Api>> {
    Router::new()
}
