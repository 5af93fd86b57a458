//! `rocksalt serve`: the listeners, the first start, the end.

use std::net::SocketAddr;
use std::path::PathBuf;

/// All that the daemon is told.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub listen: Vec<SocketAddr>,
    /// The unix socket.
    pub socket: PathBuf,
    /// PEM files.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Whose client certificates count.
    pub client_ca: Option<PathBuf>,
}
