//! [`Tls`]: how the client verifies the daemon's certificate. It can't be switched off
//! (`docs/security-rules.md#r11`).

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::Error;

#[derive(Clone, Debug)]
pub enum Tls {
    /// Certificates signed by an authority in this PEM file. The daemon's own certificate works, too.
    Ca(PathBuf),
    /// Exactly this certificate: the SHA-256 of its DER form in hex, with or without colons, as `rocksalt serve` prints it.
    Pinned(String),
    /// No TLS. Only for `http://` on loopback: over a network the token could be read.
    Loopback,
}

impl Tls {
    /// `None` for [`Tls::Loopback`].
    pub(crate) fn config(&self) -> Result<Option<Arc<ClientConfig>>, Error> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Settings(format!("TLS: {error}")))?;
        let config = match self {
            Tls::Loopback => return Ok(None),
            Tls::Ca(path) => builder.with_root_certificates(authorities(path)?).with_no_client_auth(),
            Tls::Pinned(fingerprint) => {
                let pin = PinnedVerifier { fingerprint: digest(fingerprint)?, provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(pin)).with_no_client_auth()
            }
        };
        Ok(Some(Arc::new(config)))
    }
}

fn authorities(path: &PathBuf) -> Result<RootCertStore, Error> {
    let fault = |what: String| Error::Settings(format!("{}: {what}", path.display()));
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| fault(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| fault(error.to_string()))?;
        roots.add(certificate).map_err(|error| fault(error.to_string()))?;
    }
    if roots.is_empty() { Err(fault("it contains no certificate".into())) } else { Ok(roots) }
}

fn digest(text: &str) -> Result<[u8; 32], Error> {
    let fault = || Error::Settings(format!("'{text}' is not a SHA-256 of 64 hexadecimal digits"));
    let text = text.trim();
    let digits: String = text.strip_prefix("sha256:").unwrap_or(text).chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.is_ascii() {
        return Err(fault());
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).map_err(|_| fault())?;
    }
    Ok(bytes)
}

/// Accepts one certificate only. The handshake still proves that the server has its key.
#[derive(Debug)]
struct PinnedVerifier {
    fingerprint: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Sha256::digest(certificate.as_ref()).as_slice() == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::InvalidCertificate(rustls::CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_in_their_usual_forms() {
        let plain = "ab".repeat(32);
        let colons = vec!["AB"; 32].join(":");
        assert_eq!(digest(&plain).expect("it is one"), [0xab; 32]);
        assert_eq!(digest(&format!("sha256:{colons}")).expect("it is one"), [0xab; 32]);
        for wrong in ["", "ab", &"zz".repeat(32), &"é".repeat(32)] {
            assert!(digest(wrong).is_err(), "{wrong}");
        }
    }
}
