//! [`Members`]: the connections to the members of an etcd, and which of them is asked.
//!
//! All goes to one member until it fails; then to the next one. A member that has not answered in time gets a new
//! connection the next time, since the old one may hang for long.

use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::store::{Error, Settings};

const TIME_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// etcd ends connections that are asked for a sign of life more often than every five seconds.
const SIGN_OF_LIFE: Duration = Duration::from_secs(6);
const SIGN_OF_LIFE_LIMIT: Duration = Duration::from_secs(4);

pub struct Members {
    all: Vec<Member>,
    current: AtomicUsize,
    /// For a request, all attempts together.
    pub time_limit: Duration,
}

struct Member {
    endpoint: Endpoint,
    channel: Mutex<Channel>,
}

impl Members {
    pub fn new(settings: &Settings) -> Result<Members, Error> {
        if settings.endpoints.is_empty() {
            return Err(Error::settings("no members of the etcd are named (etcd_endpoints)"));
        }
        let secure = settings.endpoints.iter().any(|url| url.starts_with("https://"));
        let tls = if secure { Some(tls(settings)?) } else { None };
        let member = |url: &String| {
            let endpoint = endpoint(url, tls.as_ref())?;
            Ok(Member { channel: Mutex::new(endpoint.connect_lazy()), endpoint })
        };
        let all = settings.endpoints.iter().map(member).collect::<Result<_, Error>>()?;
        Ok(Members { all, current: AtomicUsize::new(0), time_limit: settings.time_limit.unwrap_or(TIME_LIMIT) })
    }

    /// The one to ask now.
    pub fn current(&self) -> (usize, Channel) {
        let index = self.current.load(Ordering::Relaxed) % self.all.len();
        (index, self.all[index].channel.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    pub fn name(&self, index: usize) -> String {
        self.all[index].endpoint.uri().to_string().trim_end_matches('/').to_owned()
    }

    /// It has failed: others are asked from now on. Only the first who notices it turns.
    pub fn failed(&self, index: usize, hangs: bool) {
        let next = (index + 1) % self.all.len();
        let _ = self.current.compare_exchange(index, next, Ordering::Relaxed, Ordering::Relaxed);
        if hangs {
            let member = &self.all[index];
            *member.channel.lock().unwrap_or_else(PoisonError::into_inner) = member.endpoint.connect_lazy();
        }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }
}

fn endpoint(url: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, Error> {
    let wrong = |why: &str| Error::settings(format!("'{url}' can't be a member of the etcd: {why}"));
    let secure = url.starts_with("https://");
    if !secure && !url.starts_with("http://") {
        return Err(wrong("it must begin with https:// (or http:// for this machine itself)"));
    }
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| wrong(&error.to_string()))?;
    let uri = endpoint.uri();
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong("there is more in it than a name and a port"));
    }
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if !secure && !here {
        return Err(wrong(
            "what goes over a network is protected by TLS: use https://, with etcd_ca, \
                          etcd_certificate and etcd_key",
        ));
    }
    let endpoint = endpoint
        .connect_timeout(CONNECT_LIMIT)
        .http2_keep_alive_interval(SIGN_OF_LIFE)
        .keep_alive_timeout(SIGN_OF_LIFE_LIMIT)
        .tcp_nodelay(true)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20);
    match tls.filter(|_| secure) {
        Some(tls) => endpoint.tls_config(tls.clone()).map_err(|error| wrong(&chain(&error))),
        None => Ok(endpoint),
    }
}

/// Both sides show a certificate (rule R16), and there is no way to do without (R11).
fn tls(settings: &Settings) -> Result<ClientTlsConfig, Error> {
    let read = |name: &str, path: &Option<_>| -> Result<Vec<u8>, Error> {
        let Some(path): Option<&std::path::PathBuf> = path.as_ref() else {
            return Err(Error::settings(format!(
                "{name} is not set; https needs etcd_ca, etcd_certificate and etcd_key"
            )));
        };
        fs::read(path).map_err(|error| Error::settings(format!("can't read {name} {}: {error}", path.display())))
    };
    let ca = read("etcd_ca", &settings.ca)?;
    let certificate = read("etcd_certificate", &settings.certificate)?;
    let key = read("etcd_key", &settings.key)?;
    if let Some(path) = &settings.key {
        check_private(path)?;
    }
    let identity = Identity::from_pem(certificate, key);
    Ok(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)).identity(identity).timeout(CONNECT_LIMIT))
}

fn check_private(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.mode() & 0o007 != 0 => {
            let shown = path.display();
            Err(Error::settings(format!("everybody can read the key {shown}; do: chmod 600 {shown}")))
        }
        _ => Ok(()),
    }
}

/// An error with all its causes, each said once.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing to a text can't fail.
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}
