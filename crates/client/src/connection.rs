//! Connections to the daemon: over its unix socket, or TCP with TLS. Those that are free are used again.

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

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);

/// How many free ones are kept.
const IDLE: usize = 8;

/// Where the daemon is.
#[derive(Clone)]
pub enum Address {
    Unix(PathBuf),
    Tcp { host: String, port: u16, tls: Option<Arc<ClientConfig>> },
}

impl Address {
    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Address::Unix(path) => path.display().to_string(),
            Address::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }

    /// The `Host` of requests.
    pub fn host(&self) -> String {
        match self {
            Address::Unix(_) => "localhost".into(),
            Address::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Address::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }
}

type Sender = SendRequest<Full<Bytes>>;

/// Connections to one daemon.
pub struct Connections {
    pub address: Address,
    idle: Mutex<Vec<Sender>>,
}

/// An answer whose body is still to come. The connection is free again once it is read to its end and given back.
pub struct Answered {
    pub response: Response<Incoming>,
    sender: Sender,
}

impl Connections {
    pub fn new(address: Address) -> Connections {
        Connections { address, idle: Mutex::default() }
    }

    /// Sends a request. One that found its connection closed by the other side before anything was sent goes over a new one.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answered, Error> {
        let mut request = request;
        loop {
            let free = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut sender) = free else { break };
            if sender.is_closed() || sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(Answered { response, sender }),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(self.broken(error.into_error())),
                },
            }
        }
        let mut sender = self.connect().await?;
        let response = sender.send_request(request).await.map_err(|error| self.broken(error))?;
        Ok(Answered { response, sender })
    }

    pub fn broken(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Broken { to: self.address.shown(), source: error.into() }
    }

    async fn connect(&self) -> Result<Sender, Error> {
        let connected = tokio::time::timeout(CONNECT, self.open()).await;
        let timeout =
            |_| io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {} s", CONNECT.as_secs()));
        connected
            .map_err(timeout)
            .and_then(|connected| connected)
            .map_err(|source| Error::Connect { to: self.address.shown(), source })
    }

    async fn open(&self) -> io::Result<Sender> {
        match &self.address {
            Address::Unix(path) => greet(UnixStream::connect(path).await?).await,
            Address::Tcp { host, port, tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                match tls {
                    None => greet(stream).await,
                    Some(config) => {
                        let name = ServerName::try_from(host.clone())
                            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
                        greet(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?).await
                    }
                }
            }
        }
    }
}

impl Answered {
    /// The connection can be used by others.
    pub fn free(sender: Sender, connections: &Connections) {
        let mut idle = connections.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }

    pub fn split(self) -> (Response<Incoming>, Sender) {
        (self.response, self.sender)
    }
}

async fn greet(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Sender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // It ends with its sender, or when the other side closes it; who waits hears of it by their own request.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}
