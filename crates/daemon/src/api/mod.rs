//! The doors over HTTP: Salt's API and our own.

mod around;
pub mod event_texts;
pub mod routes;
pub mod salt;
pub mod stream;
pub mod v1;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;

use crate::requests::{Caller, RequestService};

/// What every handler has.
pub struct Api {
    pub requests: Arc<RequestService>,
    pub settings: Settings,
}

/// Settings of the doors, as Salt's `rest_cherrypy` block has them and some of our own.
#[derive(Clone, Debug)]
pub struct Settings {
    pub webhook_disable_auth: bool,
    pub stats_disable_auth: bool,
    /// In bytes.
    pub max_request_body_size: usize,
    /// The values of `client` that are allowed.
    pub clients: Vec<String>,
    /// A single-page app of others: its main file, and where it is served.
    pub app: Option<PathBuf>,
    pub app_path: String,
    pub static_files: Option<PathBuf>,
    pub static_path: String,
    /// Halite's `/run/<token>`, `/event/<token>`, `/signature`, `/fire`.
    pub halite: bool,
    /// Other sites whose pages may call: `https://ops.example.com`. Never all of them (rule R9).
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

/// How a connection came: put into each request's extensions by who accepted it, never taken from the request itself.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub address: Option<IpAddr>,
    /// The name in a client certificate that was checked, or `None`.
    pub certificate: Option<String>,
    /// Whether nobody can listen on the way.
    pub tls: bool,
    /// Who it is, on the unix socket.
    pub local: Option<Caller>,
}

/// Every route, with its layers.
pub fn router(api: Arc<Api>) -> Router {
    around::all(Router::new().merge(salt::router(&api)).nest(v1::BASE, v1::router()).with_state(api))
}
