//! The listeners, and limits on the number of connections.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::tls::{self, Certificates, uses_tls};
use super::{Error, ServerState, Settings, TlsMode, connection, state};
use crate::api::Peer;
use crate::requests::Caller;

/// The longest path of a unix socket.
const MAX_SOCKET_PATH: usize = 107;

/// An address that the daemon listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    Plain(SocketAddr),
    Tls(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Plain(address) => write!(f, "http://{address}"),
            ListenAddress::Tls(address) => write!(f, "https://{address}"),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Opens all listeners, or none.
pub async fn open(
    shared: &Arc<ServerState>,
    certificates: Option<&Arc<Certificates>>,
    listeners: &mut JoinSet<()>,
) -> Result<Vec<ListenAddress>, Error> {
    let settings = &shared.settings;
    for address in &settings.listen {
        if settings.tls == TlsMode::Never && !address.ip().is_loopback() {
            return Err(Error::Plain(*address));
        }
    }
    let acceptor = Acceptor { shared: Arc::clone(shared), counts: Arc::default() };
    let mut bound = Vec::new();
    for address in &settings.listen {
        let fault = |error| Error::Listen { address: address.to_string(), error };
        let listener = TcpListener::bind(address).await.map_err(fault)?;
        let local = listener.local_addr().map_err(fault)?;
        bound.push((listener, local, uses_tls(settings, address)));
    }
    let unix = unix(settings)?;
    let mut addresses = Vec::new();
    for (listener, local, secure) in bound {
        let certificates = certificates.filter(|_| secure).cloned();
        addresses.push(if certificates.is_some() { ListenAddress::Tls(local) } else { ListenAddress::Plain(local) });
        listeners.spawn(acceptor.clone().tcp(listener, certificates));
    }
    addresses.push(ListenAddress::Unix(settings.socket.clone()));
    listeners.spawn(acceptor.unix(unix));
    Ok(addresses)
}

fn unix(settings: &Settings) -> Result<UnixListener, Error> {
    let path = &settings.socket;
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(Error::LongSocket(path.clone()));
    }
    if let Some(directory) = path.parent() {
        state::create_directory(directory)?;
    }
    state::remove_socket(path);
    let fault = |error| Error::Listen { address: path.display().to_string(), error };
    let listener = UnixListener::bind(path).map_err(fault)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(fault)?;
    Ok(listener)
}

#[derive(Clone)]
struct Acceptor {
    shared: Arc<ServerState>,
    counts: Arc<ConnectionCounts>,
}

impl Acceptor {
    async fn tcp(self, listener: TcpListener, certificates: Option<Arc<Certificates>>) {
        loop {
            let Some(permit) = self.permit().await else { return };
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(slot) = self.counts.enter(from.ip(), self.shared.settings.limits.from_one) else {
                        continue;
                    };
                    let _ = stream.set_nodelay(true);
                    let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
                    let (shared, certificates) = (Arc::clone(&self.shared), certificates.clone());
                    tokio::spawn(async move {
                        let _held = (permit, slot);
                        serve_tcp(&shared, stream, from.ip(), certificates).await;
                    });
                }
                Err(error) => pause_after_error(&error).await,
            }
        }
    }

    async fn unix(self, listener: UnixListener) {
        let ours = rustix::process::geteuid().as_raw();
        loop {
            let Some(permit) = self.permit().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let Some(user) = peer_user(&stream, ours) else { continue };
                    let shared = Arc::clone(&self.shared);
                    tokio::spawn(async move {
                        let _held = permit;
                        let peer = Peer { local: Some(Caller::local(&user)), ..Peer::default() };
                        connection::serve(&shared, stream, peer).await;
                    });
                }
                Err(error) => pause_after_error(&error).await,
            }
        }
    }

    /// Waits for a permit for one more connection.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shared.connections).acquire_owned().await.ok()
    }
}

/// Does the TLS handshake, if the listener uses TLS, then serves HTTP.
async fn serve_tcp(
    shared: &Arc<ServerState>,
    stream: TcpStream,
    from: IpAddr,
    certificates: Option<Arc<Certificates>>,
) {
    let mut peer = Peer { address: Some(from), ..Peer::default() };
    let Some(certificates) = certificates else {
        return connection::serve(shared, stream, peer).await;
    };
    let handshake = TlsAcceptor::from(certificates.config()).accept(stream);
    match tokio::time::timeout(shared.settings.limits.handshake, handshake).await {
        Ok(Ok(stream)) => {
            let shown: Option<&[CertificateDer<'_>]> = stream.get_ref().1.peer_certificates();
            peer.tls = true;
            peer.certificate = shown.and_then(|chain| chain.first()).and_then(tls::common_name);
            connection::serve(shared, stream, peer).await;
        }
        Ok(Err(error)) => tracing::debug!(%from, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%from, "TLS handshake timed out"),
    }
}

/// The name of the peer's user, if it is the daemon's user or root.
fn peer_user(stream: &UnixStream, ours: u32) -> Option<String> {
    let uid = stream.peer_cred().ok()?.uid();
    if uid != 0 && uid != ours {
        tracing::warn!(uid, "refused on the socket: only the daemon's user and root are allowed");
        return None;
    }
    Some(user_name(uid).unwrap_or_else(|| uid.to_string()))
}

fn user_name(uid: u32) -> Option<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines
        .find(|fields| fields.get(2).and_then(|field| field.parse().ok()) == Some(uid))
        .map(|fields| fields[0].to_owned())
}

/// Waits for other connections to close: most likely the process has no descriptors left.
async fn pause_after_error(error: &std::io::Error) {
    tracing::warn!(%error, "could not accept a connection");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// The number of connections from each address.
#[derive(Default)]
struct ConnectionCounts(Mutex<HashMap<IpAddr, usize>>);

impl ConnectionCounts {
    /// Counts a connection, unless there are too many from its address. Loopback is not limited.
    fn enter(self: &Arc<ConnectionCounts>, from: IpAddr, most: usize) -> Option<ConnectionSlot> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(from).or_insert(0);
        if *count >= most && !from.is_loopback() {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot { counts: Arc::clone(self), from })
    }
}

struct ConnectionSlot {
    counts: Arc<ConnectionCounts>,
    from: IpAddr,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_can_not_take_all_connections() {
        let counts = Arc::new(ConnectionCounts::default());
        let far: IpAddr = [192, 0, 2, 1].into();
        let slots: Vec<_> = (0..3).filter_map(|_| counts.enter(far, 2)).collect();
        assert_eq!(slots.len(), 2);
        assert!(counts.enter([192, 0, 2, 2].into(), 2).is_some());
        drop(slots);
        assert!(counts.enter(far, 2).is_some());
        assert!(counts.0.lock().expect("nobody panicked").is_empty(), "closed connections leave nothing");
    }
}
