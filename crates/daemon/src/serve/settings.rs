//! [`Settings`] of the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_controller::spool::Spool;

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: Vec<SocketAddr>,
    pub tls: TlsMode,
    /// PEM files; both or none.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// CA of accepted client certificates, a PEM file.
    pub client_ca: Option<PathBuf>,
    /// The state directory, private to the daemon's user.
    pub state: PathBuf,
    /// The unix socket.
    pub socket: PathBuf,
    /// `disk`, `etcd` or `memory`.
    pub store: String,
    pub store_settings: store::Settings,
    /// The name of this controller, for records and the certificate.
    pub owner: String,
    pub keep_jobs_seconds: u64,
    /// How long an unreachable target is asked for the result of a job.
    pub recall: Duration,
    pub keep_events_seconds: u64,
    /// In bytes.
    pub largest_return: usize,
    pub limits: ConnectionLimits,
    /// Time limit of running requests when the daemon stops.
    pub stop: Duration,
    /// Jobs of commands that ran without a daemon, which it imports.
    pub spool: Option<Spool>,
    /// Whether `/metrics` needs authentication even on loopback.
    pub metrics_auth: bool,
}

impl Settings {
    /// The defaults, for a state directory.
    pub fn new(state: impl Into<PathBuf>) -> Settings {
        let state = state.into();
        Settings {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8000))],
            tls: TlsMode::Auto,
            certificate: None,
            key: None,
            client_ca: None,
            socket: state.join("daemon.sock"),
            store: "disk".into(),
            store_settings: store::Settings { path: state.join("store"), ..store::Settings::default() },
            owner: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            keep_jobs_seconds: 86_400,
            recall: Duration::from_secs(600),
            keep_events_seconds: 86_400,
            largest_return: 512 << 10,
            limits: ConnectionLimits::default(),
            stop: Duration::from_secs(10),
            spool: None,
            metrics_auth: false,
            state,
        }
    }
}

impl Settings {
    /// The users file.
    pub fn users(&self) -> PathBuf {
        self.state.join("users")
    }
}

/// Which listeners use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// All but loopback; loopback too if a certificate is configured.
    #[default]
    Auto,
    Always,
    /// None; only allowed on loopback.
    Never,
}

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Concurrent connections of all listeners.
    pub connections: usize,
    /// Concurrent connections from one address other than loopback.
    pub from_one: usize,
    /// Time limit of a request's headers, and of an idle connection.
    pub head: Duration,
    /// Time limit of the TLS handshake.
    pub handshake: Duration,
    /// A client that accepts no data for this long is disconnected.
    pub stalled: Duration,
    /// Concurrent requests on one HTTP/2 connection.
    pub streams: u32,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            connections: 10_000,
            from_one: 2_500,
            head: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            stalled: Duration::from_secs(30),
            streams: 128,
        }
    }
}
