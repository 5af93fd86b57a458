//! [`EtcdMembers`]: connections to the members of an etcd cluster, and which one is current.
//!
//! All requests go to one member until it fails, then to the next. A member that timed out gets a new connection the
//! next time, because the old one may hang for long.

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

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// etcd closes connections with keep-alives more often than every five seconds.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(6);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(4);

pub struct EtcdMembers {
    all: Vec<EtcdMember>,
    current: AtomicUsize,
    /// Time limit of a request with all its retries.
    pub time_limit: Duration,
}

struct EtcdMember {
    endpoint: Endpoint,
    channel: Mutex<Channel>,
}

impl EtcdMembers {
    pub fn new(settings: &Settings) -> Result<EtcdMembers, Error> {
        if settings.endpoints.is_empty() {
            return Err(Error::settings("etcd_endpoints is not set"));
        }
        let secure = settings.endpoints.iter().any(|url| url.starts_with("https://"));
        let tls = if secure { Some(tls(settings)?) } else { None };
        let member = |url: &String| {
            let endpoint = endpoint(url, tls.as_ref())?;
            Ok(EtcdMember { channel: Mutex::new(endpoint.connect_lazy()), endpoint })
        };
        let all = settings.endpoints.iter().map(member).collect::<Result<_, Error>>()?;
        Ok(EtcdMembers {
            all,
            current: AtomicUsize::new(0),
            time_limit: settings.time_limit.unwrap_or(REQUEST_TIMEOUT),
        })
    }

    /// The member for the next request.
    pub fn current(&self) -> (usize, Channel) {
        let index = self.current.load(Ordering::Relaxed) % self.all.len();
        (index, self.all[index].channel.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    pub fn name(&self, index: usize) -> String {
        self.all[index].endpoint.uri().to_string().trim_end_matches('/').to_owned()
    }

    /// Moves on to the next member after a failure; only the first of concurrent callers does.
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
    let invalid = |why: &str| Error::settings(format!("'{url}' is not usable as an etcd endpoint: {why}"));
    let secure = url.starts_with("https://");
    if !secure && !url.starts_with("http://") {
        return Err(invalid("it must begin with https:// (or http:// for loopback)"));
    }
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| invalid(&error.to_string()))?;
    let uri = endpoint.uri();
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(invalid("it must have a host and a port only"));
    }
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if !secure && !here {
        return Err(invalid(
            "only loopback works without TLS: use https://, with etcd_ca, etcd_certificate and etcd_key",
        ));
    }
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .tcp_nodelay(true)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20);
    match tls.filter(|_| secure) {
        Some(tls) => endpoint.tls_config(tls.clone()).map_err(|error| invalid(&chain(&error))),
        None => Ok(endpoint),
    }
}

/// Mutual TLS (`docs/security-rules.md#r16`), which can't be switched off (`#r11`).
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
    Ok(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)).identity(identity).timeout(CONNECT_TIMEOUT))
}

fn check_private(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.mode() & 0o007 != 0 => {
            let shown = path.display();
            Err(Error::settings(format!("everybody can read the key {shown}; run: chmod 600 {shown}")))
        }
        _ => Ok(()),
    }
}

/// An error with all its causes, without repetitions.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing to a string can't fail.
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}
