//! `x509`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::asn1::shown;
use super::certificate::{CertificateArguments, CertificateSpec, content, digest_of, read};
use super::key::{self, KeySource, public_pem};
use super::managed::{encoded, encoding, further, policy};
use super::openssl::OpensslCommand;
use super::parsed::{ParsedCertificate, blocks, hex, pem};
use super::subject::PARTS;
use crate::machine::{Probe, System};
use crate::text::digest;
use crate::{Error, Result};

/// Creates a private key. Without `path`, the key itself is the result.
///
/// ```text
/// rocksalt '*' x509.create_private_key algo=ec path=/etc/ssl/private/web.key
/// ```
#[function("x509.create_private_key", changes)]
pub struct CreatePrivateKey {
    /// `rsa`, `ec`, `ed25519` or `ed448`.
    algo: Option<String>,
    /// 2048 and more for `rsa`; 256, 384 or 521 for `ec`.
    keysize: Option<u64>,
    /// A pass phrase to encrypt it with.
    #[secret]
    passphrase: Option<String>,
    /// The file to write it to, for its owner only.
    path: Option<String>,
}

impl Function for CreatePrivateKey {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let algo = self.algo.as_deref().unwrap_or("rsa");
        let key = key::create(machine, algo, self.keysize, self.passphrase.as_deref())?;
        written(machine, self.path.as_deref(), key, 0o400, "Private key")
    }
}

/// Creates a certificate signing request.
///
/// ```text
/// rocksalt '*' x509.create_csr private_key=/etc/ssl/private/web.key CN=www.example.com path=/etc/ssl/web.csr
/// ```
#[function("x509.create_csr", changes)]
pub struct CreateCsr {
    /// The private key: a path, or the key itself.
    #[secret]
    private_key: String,
    /// Its passphrase.
    #[secret]
    private_key_passphrase: Option<String>,
    /// The digest that it is signed with.
    digest: Option<String>,
    /// `pem` or `der`, which is given in base64.
    encoding: Option<String>,
    /// The file to write it to.
    path: Option<String>,
    /// The subject: `CN=host,O=Example`, a map or a list.
    subject: Value,
    /// Parts of the subject, and extensions: `CN`, `keyUsage`, `subjectAltName` …
    kwargs: Map,
}

impl Function for CreateCsr {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let spec = CertificateSpec {
            digest: self.digest.unwrap_or_else(|| "sha256".into()),
            given: CertificateArguments {
                private_key: Some(self.private_key),
                private_key_passphrase: self.private_key_passphrase,
                subject: self.subject,
                ..CertificateArguments::default()
            },
            further: further(&self.kwargs)?,
        };
        let made = spec.request(machine)?;
        let text = shown_as(&made, encoding(self.encoding.as_deref())?, "CERTIFICATE REQUEST");
        written(machine, self.path.as_deref(), text, 0o644, "CSR")
    }
}

/// Creates a certificate: self-signed, or signed by a CA.
///
/// ```text
/// rocksalt '*' x509.create_certificate signing_private_key=/etc/ssl/private/web.key CN=www.example.com
/// ```
#[function("x509.create_certificate", changes)]
pub struct CreateCertificate {
    /// The policy of `x509_signing_policies` to sign under. What it says wins.
    signing_policy: Option<String>,
    /// `pem` or `der`, which is given in base64.
    encoding: Option<String>,
    /// The file to write it to.
    path: Option<String>,
    /// The digest that it is signed with.
    digest: Option<String>,
    #[flatten]
    given: CertificateArguments,
    /// Parts of the subject, and extensions: `CN`, `keyUsage`, `subjectAltName` …
    kwargs: Map,
}

impl Function for CreateCertificate {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let spec = CertificateSpec {
            digest: self.digest.unwrap_or_else(|| "sha256".into()),
            given: self.given,
            further: further(&self.kwargs)?,
        };
        let spec = match &self.signing_policy {
            Some(name) => spec.under(&policy(machine, name)?),
            None => spec,
        };
        let made = spec.certificate(machine)?;
        let text = shown_as(&made, encoding(self.encoding.as_deref())?, "CERTIFICATE");
        written(machine, self.path.as_deref(), text, 0o644, "Certificate")
    }
}

/// The contents of a certificate.
///
/// ```text
/// rocksalt '*' x509.read_certificate /etc/ssl/web.crt
/// ```
#[function("x509.read_certificate", reads)]
pub struct ReadCertificate {
    /// A path, or the certificate itself.
    certificate: String,
}

impl Function for ReadCertificate {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let parsed = read(machine, &self.certificate, "certificate", ParsedCertificate::certificate)?;
        let public = public_pem(&parsed.public_key);
        let kind = key::kind(machine, &public)?;
        let sum = |kind| hex(&digest::raw(kind, &parsed.der));
        Ok(Map::from_iter([
            ("version".into(), 3.into()),
            ("key_size".into(), i64::try_from(kind.size).unwrap_or_default().into()),
            ("key_type".into(), kind.algo.into()),
            ("serial_number".into(), parsed.serial.as_str().into()),
            (
                "fingerprints".into(),
                Map::from_iter([
                    ("sha256".into(), sum(digest::DigestAlgorithm::Sha256).into()),
                    ("sha1".into(), sum(digest::DigestAlgorithm::Sha1).into()),
                    ("md5".into(), sum(digest::DigestAlgorithm::Md5).into()),
                ])
                .into(),
            ),
            ("subject".into(), named(&parsed.subject).into()),
            ("issuer".into(), named(&parsed.issuer).into()),
            ("not_before".into(), shown(parsed.not_before).into()),
            ("not_after".into(), shown(parsed.not_after).into()),
            ("public_key".into(), public.into()),
            (
                "signature_algorithm".into(),
                digest_of(&parsed.signature).map_or(parsed.signature.as_str(), |name| name).into(),
            ),
            ("extensions".into(), named_extensions(&parsed).into()),
        ]))
    }
}

/// The contents of a certificate signing request.
///
/// ```text
/// rocksalt '*' x509.read_csr /etc/ssl/web.csr
/// ```
#[function("x509.read_csr", reads)]
pub struct ReadCsr {
    /// A path, or the request itself.
    csr: String,
}

impl Function for ReadCsr {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let parsed = read(machine, &self.csr, "request", ParsedCertificate::request)?;
        let public = public_pem(&parsed.public_key);
        let kind = key::kind(machine, &public)?;
        Ok(Map::from_iter([
            ("key_size".into(), i64::try_from(kind.size).unwrap_or_default().into()),
            ("key_type".into(), kind.algo.into()),
            ("subject".into(), named(&parsed.subject).into()),
            ("subject_hash".into(), hex(&digest::raw(digest::DigestAlgorithm::Sha1, &parsed.public_key)).into()),
            ("extensions".into(), named_extensions(&parsed).into()),
            ("public_key_hash".into(), hex(&digest::raw(digest::DigestAlgorithm::Sha1, &parsed.public_key)).into()),
        ]))
    }
}

/// A PEM text, well formed: the first of its kind in a file or a text.
///
/// ```text
/// rocksalt '*' x509.get_pem_entry /etc/ssl/bundle.pem pem_type=CERTIFICATE
/// ```
#[function("x509.get_pem_entry", reads)]
pub struct GetPemEntry {
    /// A path, or the text itself.
    text: String,
    /// `CERTIFICATE`, `PRIVATE KEY` …; by default the first one.
    pem_type: Option<String>,
}

impl Function for GetPemEntry {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        entry(machine, &self.text, self.pem_type.as_deref())
    }
}

/// The public key of a private key, a certificate or a request.
///
/// ```text
/// rocksalt '*' x509.get_public_key /etc/ssl/web.crt
/// ```
#[function("x509.get_public_key", reads)]
pub struct GetPublicKey {
    /// A path, or the text itself.
    key: String,
    /// The pass phrase of a private key.
    #[secret]
    passphrase: Option<String>,
}

impl Function for GetPublicKey {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let bytes = content(machine, &self.key)?;
        match ParsedCertificate::certificate(&bytes).or_else(|| ParsedCertificate::request(&bytes)) {
            Some(parsed) => Ok(public_pem(&parsed.public_key)),
            None => KeySource { place: &self.key, passphrase: self.passphrase.as_deref() }.public(machine),
        }
    }
}

/// The size of a private key in bits.
///
/// ```text
/// rocksalt '*' x509.get_private_key_size /etc/ssl/private/web.key
/// ```
#[function("x509.get_private_key_size", reads)]
pub struct GetPrivateKeySize {
    /// A path, or the key itself.
    #[secret]
    private_key: String,
    /// Its passphrase.
    #[secret]
    passphrase: Option<String>,
}

impl Function for GetPrivateKeySize {
    type Output = u64;

    fn call(self, machine: &dyn System) -> Result<u64> {
        Ok(KeySource { place: &self.private_key, passphrase: self.passphrase.as_deref() }.kind(machine)?.size)
    }
}

/// Whether a private key belongs to a certificate's or request's public key.
///
/// ```text
/// rocksalt '*' x509.verify_private_key /etc/ssl/private/web.key /etc/ssl/web.crt
/// ```
#[function("x509.verify_private_key", reads)]
pub struct VerifyPrivateKey {
    /// The private key: a path, or the key itself.
    #[secret]
    private_key: String,
    /// The certificate or request: a path, or the text itself.
    public_key: String,
    /// The pass phrase of the private key.
    #[secret]
    passphrase: Option<String>,
}

impl Function for VerifyPrivateKey {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let public = KeySource { place: &self.private_key, passphrase: self.passphrase.as_deref() }.public(machine)?;
        let bytes = content(machine, &self.public_key)?;
        let other = match ParsedCertificate::certificate(&bytes).or_else(|| ParsedCertificate::request(&bytes)) {
            Some(parsed) => public_pem(&parsed.public_key),
            None => String::from_utf8_lossy(&bytes).into_owned(),
        };
        Ok(blocks(&public) == blocks(&other))
    }
}

/// Whether a certificate was signed by another one's key.
///
/// ```text
/// rocksalt '*' x509.verify_signature /etc/ssl/web.crt signing_pub_key=/etc/ssl/ca.crt
/// ```
#[function("x509.verify_signature", reads)]
pub struct VerifySignature {
    /// The certificate: a path, or the text itself.
    certificate: String,
    /// The signer's certificate; else it must be signed by itself.
    signing_pub_key: Option<String>,
}

impl Function for VerifySignature {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let parsed = read(machine, &self.certificate, "certificate", ParsedCertificate::certificate)?;
        let signer = self.signing_pub_key.unwrap_or_else(|| self.certificate.clone());
        signed_by(machine, &parsed.der, &signer)
    }
}

/// Whether a certificate expires within some days, or has expired.
///
/// ```text
/// rocksalt '*' x509.expires /etc/ssl/web.crt days=30
/// ```
#[function("x509.expires", reads)]
pub struct Expires {
    /// A path, or the certificate itself.
    certificate: String,
    /// So many days from now.
    #[default]
    days: i64,
}

impl Function for Expires {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let parsed = read(machine, &self.certificate, "certificate", ParsedCertificate::certificate)?;
        Ok(parsed.not_after <= machine.now() as i64 + self.days * 86400)
    }
}

/// Whether a certificate will expire within some days, with its names.
///
/// ```text
/// rocksalt '*' x509.will_expire /etc/ssl/web.crt days=30
/// ```
#[function("x509.will_expire", reads)]
pub struct WillExpire {
    /// A path.
    certificate: String,
    /// So many days from now.
    days: i64,
}

impl Function for WillExpire {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let parsed = read(machine, &self.certificate, "certificate", ParsedCertificate::certificate)?;
        let names =
            parsed.subject.iter().filter(|(oid, _)| oid == "2.5.4.3").map(|(_, name)| Value::from(name.as_str()));
        let expires = parsed.not_after <= machine.now() as i64 + self.days * 86400;
        Ok(Map::from_iter([
            ("path".into(), self.certificate.as_str().into()),
            ("check_days".into(), self.days.into()),
            ("cn".into(), names.collect::<Vec<_>>().first().cloned().unwrap_or_default()),
            ("will_expire".into(), expires.into()),
        ]))
    }
}

/// Whether a certificate was signed with the key of another one.
pub fn signed_by(machine: &dyn Probe, der: &[u8], signer: &str) -> Result<bool> {
    let signer = read(machine, signer, "certificate", ParsedCertificate::certificate)?;
    // Only the signature is checked here, not the allowed uses or the validity period.
    let words = ["verify", "-partial_chain", "-no_check_time", "-trusted", "signer", "certificate"];
    let run = OpensslCommand::new(words)
        .part("signer", pem("CERTIFICATE", &signer.der))
        .part("certificate", pem("CERTIFICATE", der));
    Ok(run.look(machine)?.success())
}

/// The first PEM block of a kind, in normal form.
pub fn entry(machine: &dyn Probe, text: &str, kind: Option<&str>) -> Result<String> {
    let given =
        if text.starts_with('/') && !text.contains('\n') { content(machine, text)? } else { text.as_bytes().to_vec() };
    let given = String::from_utf8_lossy(&given).replace("\\n", "\n");
    let found = blocks(&given).into_iter().find(|(known, _)| kind.is_none_or(|kind| kind == known));
    let (kind, body) = found.ok_or_else(|| match kind {
        Some(kind) => Error::failed(format!("PEM does not contain a single entry of type {kind}")),
        None => Error::failed("The text has no PEM entry in it"),
    })?;
    // Lines with a colon belong to the encryption of an old key: they must stay.
    let start = format!("-----BEGIN {kind}-----");
    let head: Vec<&str> = given
        .split_once(&start)
        .map_or("", |(_, rest)| rest)
        .lines()
        .take_while(|line| !line.starts_with("-----"))
        .filter(|line| line.contains(':'))
        .collect();
    let head = if head.is_empty() { String::new() } else { format!("{}\n\n", head.join("\n")) };
    let lines: Vec<&str> = body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    Ok(format!("{start}\n{head}{}\n-----END {kind}-----\n", lines.join("\n")))
}

fn shown_as(parsed: &ParsedCertificate, encoding: &str, kind: &str) -> String {
    use base64::Engine;
    let bytes = encoded(parsed, encoding, kind, &[]);
    match encoding {
        "der" => base64::engine::general_purpose::STANDARD.encode(bytes),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

fn written(machine: &dyn System, path: Option<&str>, text: String, mode: u32, what: &str) -> Result<String> {
    let Some(path) = path else { return Ok(text) };
    let path = super::super::file::absolute(machine, path)?;
    machine.write(&path, text.as_bytes(), Some(mode)).map_err(|error| Error::io("write", &path, &error))?;
    Ok(format!("{what} written to {}", path.display()))
}

fn named(parts: &[(String, String)]) -> Map {
    let name = |oid: &str| {
        PARTS.iter().find(|(_, _, known)| *known == oid).map_or(oid.to_owned(), |(name, ..)| (*name).to_owned())
    };
    parts.iter().map(|(oid, value)| (name(oid).into(), value.as_str().into())).collect()
}

fn named_extensions(parsed: &ParsedCertificate) -> Map {
    let name = |oid: &str| {
        super::extensions::KNOWN
            .iter()
            .find(|(_, known)| *known == oid)
            .map_or(oid.to_owned(), |(name, _)| (*name).to_owned())
    };
    let one = |extension: &super::parsed::Extension| {
        let value = Map::from_iter([
            ("critical".into(), extension.critical.into()),
            ("value".into(), hex(&extension.value).into()),
        ]);
        (name(&extension.oid).into(), value.into())
    };
    parsed.extensions.iter().map(one).collect()
}
