//! [`Error`]: why the daemon could not start. What a failed start created is reused by the next start.

use std::net::SocketAddr;
use std::path::PathBuf;

use rocksalt_backends::store;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not create {path}: {error}")]
    Make { path: PathBuf, error: std::io::Error },
    #[error("could not read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("could not write {path}: {error}")]
    Write { path: PathBuf, error: std::io::Error },
    #[error("{path} is not a directory for this user only: {why}")]
    NotOurs { path: PathBuf, why: &'static str },
    #[error("another daemon uses {path} already{}", .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Second { path: PathBuf, pid: Option<u32> },
    #[error("could not listen on {address}: {error}")]
    Listen { address: String, error: std::io::Error },
    #[error("{0} is not a loopback address, and without TLS passwords could be read on the network")]
    Plain(SocketAddr),
    #[error("the path of the socket is too long: {0}")]
    LongSocket(PathBuf),
    #[error("{path}: {why}")]
    Certificate { path: PathBuf, why: String },
    #[error("could not create a certificate: {0}")]
    MakeCertificate(String),
    #[error("the store: {0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Load(String),
    #[error("the users: {0}")]
    Users(String),
    #[error("the audit log: {0}")]
    Audit(String),
    #[error("could not listen for signals: {error}")]
    Signals { error: std::io::Error },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NotOurs { path, .. } => format!("chown it to this user and `chmod 700 {}`, or set another `state_dir`", path.display()),
            Error::Second { .. } => "stop that one first, or set another `state_dir`".into(),
            Error::Listen { error, .. } if error.kind() == std::io::ErrorKind::AddrInUse => {
                "the address is in use; set another with `listen`".into()
            }
            Error::Listen { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 need root; use another, or give the service CAP_NET_BIND_SERVICE".into()
            }
            Error::Plain(_) => {
                "remove `tls: false` (or `disable_ssl`): a certificate is created if there is none; behind a proxy listen on 127.0.0.1".into()
            }
            Error::LongSocket(_) => "set a shorter `state_dir`".into(),
            Error::Certificate { .. } => "`tls_certificate` and `tls_key` are PEM files; without both a certificate is created".into(),
            _ => return None,
        };
        Some(hint)
    }
}
