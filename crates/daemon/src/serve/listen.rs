//! The listeners: who may come in, and how many.

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

use super::tls::{self, Certificates, speaks_tls};
use super::{Error, Settings, Shared, Tls, connection, state};
use crate::api::Peer;
use crate::requests::Caller;

/// The longest path that a socket can have.
const LONGEST: usize = 107;

/// Where the daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Plain(SocketAddr),
    Tls(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Plain(address) => write!(f, "http://{address}"),
            Address::Tls(address) => write!(f, "https://{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Opens all of them, or none.
pub async fn open(
    shared: &Arc<Shared>,
    certificates: Option<&Arc<Certificates>>,
    listeners: &mut JoinSet<()>,
) -> Result<Vec<Address>, Error> {
    let settings = &shared.settings;
    for address in &settings.listen {
        if settings.tls == Tls::Never && !address.ip().is_loopback() {
            return Err(Error::Plain(*address));
        }
    }
    let door = Door { shared: Arc::clone(shared), crowd: Arc::default() };
    let mut bound = Vec::new();
    for address in &settings.listen {
        let fault = |error| Error::Listen { address: address.to_string(), error };
        let listener = TcpListener::bind(address).await.map_err(fault)?;
        let local = listener.local_addr().map_err(fault)?;
        bound.push((listener, local, speaks_tls(settings, address)));
    }
    let unix = unix(settings)?;
    let mut addresses = Vec::new();
    for (listener, local, secure) in bound {
        let certificates = certificates.filter(|_| secure).cloned();
        addresses.push(if certificates.is_some() { Address::Tls(local) } else { Address::Plain(local) });
        listeners.spawn(door.clone().tcp(listener, certificates));
    }
    addresses.push(Address::Unix(settings.socket.clone()));
    listeners.spawn(door.unix(unix));
    Ok(addresses)
}

fn unix(settings: &Settings) -> Result<UnixListener, Error> {
    let path = &settings.socket;
    if path.as_os_str().len() > LONGEST {
        return Err(Error::LongSocket(path.clone()));
    }
    if let Some(directory) = path.parent() {
        state::directory(directory)?;
    }
    state::remove_socket(path);
    let fault = |error| Error::Listen { address: path.display().to_string(), error };
    let listener = UnixListener::bind(path).map_err(fault)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(fault)?;
    Ok(listener)
}

#[derive(Clone)]
struct Door {
    shared: Arc<Shared>,
    crowd: Arc<Crowd>,
}

impl Door {
    async fn tcp(self, listener: TcpListener, certificates: Option<Arc<Certificates>>) {
        loop {
            let Some(place) = self.place().await else { return };
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(seat) = self.crowd.enter(from.ip(), self.shared.settings.limits.from_one) else {
                        continue;
                    };
                    let _ = stream.set_nodelay(true);
                    let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
                    let (shared, certificates) = (Arc::clone(&self.shared), certificates.clone());
                    tokio::spawn(async move {
                        let _held = (place, seat);
                        greet(&shared, stream, from.ip(), certificates).await;
                    });
                }
                Err(error) => busy(&error).await,
            }
        }
    }

    async fn unix(self, listener: UnixListener) {
        let ours = rustix::process::geteuid().as_raw();
        loop {
            let Some(place) = self.place().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let Some(user) = who(&stream, ours) else { continue };
                    let shared = Arc::clone(&self.shared);
                    tokio::spawn(async move {
                        let _held = place;
                        let peer = Peer { local: Some(Caller::local(&user)), ..Peer::default() };
                        connection::serve(&shared, stream, peer).await;
                    });
                }
                Err(error) => busy(&error).await,
            }
        }
    }

    /// Waits until there is room for one more.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shared.places).acquire_owned().await.ok()
    }
}

/// TLS first, if it is spoken here; then HTTP.
async fn greet(shared: &Arc<Shared>, stream: TcpStream, from: IpAddr, certificates: Option<Arc<Certificates>>) {
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
        Ok(Err(error)) => tracing::debug!(%from, %error, "no TLS"),
        Err(_) => tracing::debug!(%from, "no TLS in time"),
    }
}

/// The name of who is at the other end, if it is our own user or root.
fn who(stream: &UnixStream, ours: u32) -> Option<String> {
    let uid = stream.peer_cred().ok()?.uid();
    if uid != 0 && uid != ours {
        tracing::warn!(uid, "refused on the socket: it is for our own user and root");
        return None;
    }
    Some(name(uid).unwrap_or_else(|| uid.to_string()))
}

fn name(uid: u32) -> Option<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines
        .find(|fields| fields.get(2).and_then(|field| field.parse().ok()) == Some(uid))
        .map(|fields| fields[0].to_owned())
}

/// Out of descriptors, most likely: others must end first.
async fn busy(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be taken");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// How many are in from each address.
#[derive(Default)]
struct Crowd(Mutex<HashMap<IpAddr, usize>>);

impl Crowd {
    /// A seat, unless too many are in from there. This machine's own programs may take them all.
    fn enter(self: &Arc<Crowd>, from: IpAddr, most: usize) -> Option<Seat> {
        let mut crowd = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = crowd.entry(from).or_insert(0);
        if *count >= most && !from.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Seat { crowd: Arc::clone(self), from })
    }
}

struct Seat {
    crowd: Arc<Crowd>,
    from: IpAddr,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut crowd = self.crowd.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = crowd.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                crowd.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_takes_not_all_places() {
        let crowd = Arc::new(Crowd::default());
        let far: IpAddr = [192, 0, 2, 1].into();
        let seats: Vec<_> = (0..3).filter_map(|_| crowd.enter(far, 2)).collect();
        assert_eq!(seats.len(), 2);
        assert!(crowd.enter([192, 0, 2, 2].into(), 2).is_some());
        drop(seats);
        assert!(crowd.enter(far, 2).is_some());
        assert!(crowd.0.lock().expect("nobody panicked").is_empty(), "who is gone leaves nothing");
    }
}
