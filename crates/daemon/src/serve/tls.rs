//! [`Certificates`] of the listeners, created if none is configured.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};

use super::{Error, Settings, StartNotice, TlsMode, state};

/// Validity of a created certificate in days; it is renewed with the same key when fewer than `RENEW_DAYS` are left.
const DAYS: u64 = 820;
const RENEW_DAYS: u64 = 60;
const WARN_DAYS: u64 = 30;

pub struct Certificates(RwLock<Arc<ServerConfig>>);

impl Certificates {
    /// `None` if no listener uses TLS.
    pub fn open(settings: &Settings, notify: &(dyn Fn(StartNotice) + Sync)) -> Result<Option<Certificates>, Error> {
        if !settings.listen.iter().any(|address| uses_tls(settings, address)) {
            return Ok(None);
        }
        Ok(Some(Certificates(RwLock::new(load(settings, Some(notify))?))))
    }

    /// The configuration for new connections.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reloads the files; on an error the old certificates stay in use.
    pub fn reload(&self, settings: &Settings) -> Result<(), Error> {
        let fresh = load(settings, None)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

/// Whether a listener uses TLS.
pub fn uses_tls(settings: &Settings, address: &std::net::SocketAddr) -> bool {
    match settings.tls {
        TlsMode::Always => true,
        TlsMode::Never => false,
        TlsMode::Auto => !address.ip().is_loopback() || settings.certificate.is_some(),
    }
}

fn load(settings: &Settings, notify: Option<&(dyn Fn(StartNotice) + Sync)>) -> Result<Arc<ServerConfig>, Error> {
    let (certificate, key) = match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
        // One file may contain both.
        (Some(certificate), None) => (certificate.clone(), certificate.clone()),
        (None, _) => own_certificate(settings, notify)?,
    };
    let invalid = |path: &Path, why: String| Error::Certificate { path: path.to_owned(), why };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(&certificate)
            .and_then(Iterator::collect)
            .map_err(|error| invalid(&certificate, format!("no certificate: {error}")))?;
    let Some(first) = chain.first() else { return Err(invalid(&certificate, "it contains no certificate".into())) };
    match days_left(first) {
        None => return Err(invalid(&certificate, "it can't be parsed".into())),
        Some(days) if days < WARN_DAYS as i64 => {
            tracing::warn!(path = %certificate.display(), days, "the certificate expires soon");
        }
        Some(_) => {}
    }
    let secret =
        PrivateKeyDer::from_pem_file(&key).map_err(|error| invalid(&key, format!("no private key: {error}")))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&certificate, error.to_string()))?;
    let builder = match &settings.client_ca {
        None => versions.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let all = all.map_err(|error| invalid(path, format!("no certificate: {error}")))?;
            for authority in all {
                roots.add(authority).map_err(|error| invalid(path, error.to_string()))?;
            }
            // Clients without a certificate log in by other means.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| invalid(path, error.to_string()))?;
            versions.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, secret).map_err(|error| invalid(&key, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The paths of our own certificate and key; creates them if needed, and renews a certificate that expires soon.
fn own_certificate(
    settings: &Settings,
    notify: Option<&(dyn Fn(StartNotice) + Sync)>,
) -> Result<(PathBuf, PathBuf), Error> {
    let (certificate, key) = (settings.state.join("certificate.pem"), settings.state.join("key.pem"));
    let fault = |error: rcgen::Error| Error::MakeCertificate(error.to_string());
    let pair = match std::fs::read_to_string(&key) {
        Ok(text) => KeyPair::from_pem(&text).map_err(fault)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let pair = KeyPair::generate().map_err(fault)?;
            state::write_new(&key, pair.serialize_pem().as_bytes())?;
            pair
        }
        Err(error) => return Err(Error::Read { path: key, error }),
    };
    let known = CertificateDer::from_pem_file(&certificate).ok();
    if known.as_ref().and_then(days_left).is_some_and(|days| days >= RENEW_DAYS as i64) {
        return Ok((certificate, key));
    }
    let names = names(settings);
    let made = params(&settings.owner, &names).and_then(|params| params.self_signed(&pair)).map_err(fault)?;
    state::replace(&certificate, made.pem().as_bytes())?;
    if let Some(notify) = notify {
        notify(StartNotice::Certificate {
            path: certificate.clone(),
            fingerprint: fingerprint(made.der()),
            pin: pin(made.der()).unwrap_or_default(),
            names,
        });
    }
    Ok((certificate, key))
}

fn params(owner: &str, names: &[String]) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, owner);
    params.distinguished_name.push(DnType::OrganizationName, "Rocksalt");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Allow for clocks that are behind.
    let (year, month, day) = date(now.saturating_sub(Duration::from_secs(86_400)));
    params.not_before = rcgen::date_time_ymd(year, month, day);
    let (year, month, day) = date(now + Duration::from_secs(DAYS * 86_400));
    params.not_after = rcgen::date_time_ymd(year, month, day);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

/// Year, month and day of a time since the Unix epoch, by way of a job id.
fn date(since: Duration) -> (i32, u8, u8) {
    let text = rocksalt_core::JobId::at(since.as_micros() as u64).to_string();
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u16>().ok()).unwrap_or(1);
    (number(0..4).into(), number(4..6) as u8, number(6..8) as u8)
}

/// All names and addresses of this machine for the certificate.
fn names(settings: &Settings) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let valid =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    names.extend([host].into_iter().filter(|host| valid(host)));
    let specific = settings.listen.iter().map(|address| address.ip()).filter(|ip| !ip.is_unspecified());
    names.extend(specific.map(|ip| ip.to_string()));
    if settings.listen.iter().any(|address| address.ip().is_unspecified()) {
        names.extend(outgoing_address());
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The address of the default route. Nothing is sent: connecting a datagram socket only looks up the route.
fn outgoing_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

fn days_left(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() as i64;
    Some((parsed.validity().not_after.timestamp() - now) / 86_400)
}

/// In the format of browsers and `openssl x509 -fingerprint -sha256`.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digits: Vec<String> = Sha256::digest(certificate.as_ref()).iter().map(|byte| format!("{byte:02X}")).collect();
    digits.join(":")
}

/// In the format of `curl --pinnedpubkey`.
fn pin(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(format!("sha256//{}", STANDARD.encode(Sha256::digest(parsed.public_key().raw))))
}

/// The common name of a verified client certificate.
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = parsed.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
    Some(name)
}
