//! The HTTP APIs: Salt's and our own.

pub mod event_texts;
mod middleware;
pub mod routes;
pub mod salt;
pub mod stream;
pub mod v1;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;

use crate::requests::{Caller, RequestService};

/// State of all handlers.
pub struct Api {
    pub requests: Arc<RequestService>,
    pub settings: Settings,
}

/// Settings of the APIs: those of Salt's `rest_cherrypy` block and some of our own.
#[derive(Clone, Debug)]
pub struct Settings {
    pub webhook_disable_auth: bool,
    pub stats_disable_auth: bool,
    /// In bytes.
    pub max_request_body_size: usize,
    /// Allowed values of `client`.
    pub clients: Vec<String>,
    /// A single-page app: its main file, and the path where it is served.
    pub app: Option<PathBuf>,
    pub app_path: String,
    pub static_files: Option<PathBuf>,
    pub static_path: String,
    /// Halite's `/run/<token>`, `/event/<token>`, `/signature`, `/fire`.
    pub halite: bool,
    /// Origins that may call the API, as `https://ops.example.com`. Never `*` (`docs/security-rules.md#r9`).
    pub origins: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let clients = [
            "local",
            "local_async",
            "local_batch",
            "local_subset",
            "runner",
            "runner_async",
            "ssh",
            "wheel",
            "wheel_async",
        ];
        Settings {
            webhook_disable_auth: false,
            stats_disable_auth: false,
            max_request_body_size: 1 << 20,
            clients: clients.map(str::to_owned).to_vec(),
            app: None,
            app_path: "/app".into(),
            static_files: None,
            static_path: "/static".into(),
            halite: false,
            origins: Vec::new(),
        }
    }
}

/// The peer of a connection. The listener puts it into each request's extensions; it never comes from the request.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub address: Option<IpAddr>,
    /// The common name of a verified client certificate.
    pub certificate: Option<String>,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The caller on the unix socket.
    pub local: Option<Caller>,
}

/// Every route, with its layers.
pub fn router(api: Arc<Api>) -> Router {
    middleware::apply(Router::new().merge(salt::router(&api)).nest(v1::BASE, v1::router()).with_state(api))
}
