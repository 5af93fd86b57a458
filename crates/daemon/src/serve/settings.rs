//! [`Settings`]: all that the daemon is told.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rocksalt_backends::store;
use rocksalt_controller::spool::Spool;

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: Vec<SocketAddr>,
    pub tls: Tls,
    /// PEM files; both or none.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Whose client certificates count, a PEM file.
    pub client_ca: Option<PathBuf>,
    /// Our own directory, nobody else's.
    pub state: PathBuf,
    /// The unix socket.
    pub socket: PathBuf,
    /// `disk`, `etcd` or `memory`.
    pub store: String,
    pub store_settings: store::Settings,
    /// The name of this controller, for the records and the certificate.
    pub owner: String,
    pub keep_jobs_seconds: u64,
    /// A target that can't be reached is asked for the result of a job for so long.
    pub recall: Duration,
    pub keep_events_seconds: u64,
    /// In bytes.
    pub largest_return: usize,
    pub limits: Limits,
    /// How long requests may go on after the daemon was told to stop.
    pub stop: Duration,
    /// Jobs of commands that ran without a daemon; it takes them over.
    pub spool: Option<Spool>,
    /// Whether `/metrics` wants a login even on this machine.
    pub metrics_auth: bool,
}

impl Settings {
    /// The defaults, for a state directory.
    pub fn new(state: impl Into<PathBuf>) -> Settings {
        let state = state.into();
        Settings {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8000))],
            tls: Tls::Auto,
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
            limits: Limits::default(),
            stop: Duration::from_secs(10),
            spool: None,
            metrics_auth: false,
            state,
        }
    }
}

impl Settings {
    /// The file of our own users.
    pub fn users(&self) -> PathBuf {
        self.state.join("users")
    }
}

/// Which listeners speak TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// All but those on loopback; those too if a certificate is named.
    #[default]
    Auto,
    Always,
    /// None; refused off loopback.
    Never,
}

/// What a client may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once, all listeners together.
    pub connections: usize,
    /// Of these, from one address that is not this machine's.
    pub from_one: usize,
    /// For the head of a request to come, and for a connection without one.
    pub head: Duration,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// A client that takes nothing of what is sent to it for so long is gone.
    pub stalled: Duration,
    /// Requests at once on one HTTP/2 connection.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            from_one: 2_500,
            head: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            stalled: Duration::from_secs(30),
            streams: 128,
        }
    }
}
