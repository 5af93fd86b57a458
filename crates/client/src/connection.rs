//! Connections to the daemon, over its unix socket or TCP with TLS. Idle connections are reused.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::Error;

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many idle connections are kept.
const MAX_IDLE: usize = 8;

/// Where the daemon is.
#[derive(Clone)]
pub enum DaemonAddress {
    Unix(PathBuf),
    Tcp { host: String, port: u16, tls: Option<Arc<ClientConfig>> },
}

impl DaemonAddress {
    /// For messages.
    pub fn display(&self) -> String {
        match self {
            DaemonAddress::Unix(path) => path.display().to_string(),
            DaemonAddress::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }

    /// The `Host` header.
    pub fn host(&self) -> String {
        match self {
            DaemonAddress::Unix(_) => "localhost".into(),
            DaemonAddress::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            DaemonAddress::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }
}

type RequestSender = SendRequest<Full<Bytes>>;

/// Connections to one daemon.
pub struct Connections {
    pub address: DaemonAddress,
    idle: Mutex<Vec<RequestSender>>,
}

/// A response whose body has not been read yet. Once it is, [`Connections::release`] makes the connection idle again.
pub struct PendingResponse {
    pub response: Response<Incoming>,
    sender: RequestSender,
}

impl Connections {
    pub fn new(address: DaemonAddress) -> Connections {
        Connections { address, idle: Mutex::default() }
    }

    /// Sends a request. If an idle connection turns out to be closed before anything was sent, tries the next one.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<PendingResponse, Error> {
        let mut request = request;
        loop {
            let free = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut sender) = free else { break };
            if sender.is_closed() || sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(PendingResponse { response, sender }),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(self.broken(error.into_error())),
                },
            }
        }
        let mut sender = self.connect().await?;
        let response = sender.send_request(request).await.map_err(|error| self.broken(error))?;
        Ok(PendingResponse { response, sender })
    }

    pub fn broken(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Broken { to: self.address.display(), source: error.into() }
    }

    async fn connect(&self) -> Result<RequestSender, Error> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.open()).await;
        let timeout = |_| {
            io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()))
        };
        connected
            .map_err(timeout)
            .and_then(|connected| connected)
            .map_err(|source| Error::Connect { to: self.address.display(), source })
    }

    async fn open(&self) -> io::Result<RequestSender> {
        match &self.address {
            DaemonAddress::Unix(path) => handshake(UnixStream::connect(path).await?).await,
            DaemonAddress::Tcp { host, port, tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                match tls {
                    None => handshake(stream).await,
                    Some(config) => {
                        let name = ServerName::try_from(host.clone())
                            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
                        handshake(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?).await
                    }
                }
            }
        }
    }
}

impl PendingResponse {
    pub fn split(self) -> (Response<Incoming>, RequestSender) {
        (self.response, self.sender)
    }
}

impl Connections {
    /// Keeps a connection for the next request.
    pub fn release(&self, sender: RequestSender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }
}

async fn handshake(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<RequestSender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // Ends with its sender, or when the daemon closes it; a waiting request then gets the error.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}
