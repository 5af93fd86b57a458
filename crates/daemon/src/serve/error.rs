//! [`Error`]: why the daemon doesn't start. Nothing is left behind but what a next start takes up.

use std::net::SocketAddr;
use std::path::PathBuf;

use rocksalt_backends::store;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("can't make {path}: {error}")]
    Make { path: PathBuf, error: std::io::Error },
    #[error("can't read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("can't write {path}: {error}")]
    Write { path: PathBuf, error: std::io::Error },
    #[error("{path} is not a directory that only this user can use: {why}")]
    NotOurs { path: PathBuf, why: &'static str },
    #[error("another daemon works in {path} already{}", .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Second { path: PathBuf, pid: Option<u32> },
    #[error("can't listen on {address}: {error}")]
    Listen { address: String, error: std::io::Error },
    #[error("{0} is not this machine's own address, and without TLS passwords would be read on the way")]
    Plain(SocketAddr),
    #[error("the path of the socket is too long for the system: {0}")]
    LongSocket(PathBuf),
    #[error("{path}: {why}")]
    Certificate { path: PathBuf, why: String },
    #[error("can't make a certificate: {0}")]
    MakeCertificate(String),
    #[error("the store: {0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Load(String),
    #[error("the users: {0}")]
    Users(String),
    #[error("the audit log: {0}")]
    Audit(String),
    #[error("can't hear signals: {error}")]
    Signals { error: std::io::Error },
}

impl Error {
    /// The way out.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NotOurs { path, .. } => format!("chown it to this user and `chmod 700 {}`, or name another with `state_dir`", path.display()),
            Error::Second { .. } => "end that one first, or give this one a `state_dir` of its own".into(),
            Error::Listen { error, .. } if error.kind() == std::io::ErrorKind::AddrInUse => {
                "something else listens there; name another address with `listen`".into()
            }
            Error::Listen { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 are root's; take another, or give the service CAP_NET_BIND_SERVICE".into()
            }
            Error::Plain(_) => {
                "leave `tls: false` (or `disable_ssl`) out: a certificate is made if there is none; behind a proxy listen on 127.0.0.1".into()
            }
            Error::LongSocket(_) => "name a shorter `state_dir`".into(),
            Error::Certificate { .. } => "`tls_certificate` and `tls_key` name PEM files; without both a certificate is made".into(),
            _ => return None,
        };
        Some(hint)
    }
}
