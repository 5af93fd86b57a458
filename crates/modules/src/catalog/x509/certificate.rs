//! [`CertificateSpec`]: a requested certificate or signing request, and how openssl creates it.

use rocksalt_core::{Map, Value};
use rocksalt_macros::arguments;

use super::extensions;
use super::key::{KeySource, public_pem};
use super::openssl::OpensslCommand;
use super::parsed::{ParsedCertificate, pem};
use super::subject::DistinguishedName;
use crate::machine::Probe;
use crate::{Error, Result};

/// The arguments that describe a certificate, with Salt's names.
#[arguments]
#[derive(Clone, Default)]
pub struct CertificateArguments {
    /// The private key that signs: a path, or the key itself.
    #[secret]
    pub signing_private_key: Option<String>,
    /// Its passphrase.
    #[secret]
    pub signing_private_key_passphrase: Option<String>,
    /// The certificate of who signs.
    pub signing_cert: Option<String>,
    /// The public key that is certified.
    pub public_key: Option<String>,
    /// The private key whose public half is certified.
    #[secret]
    pub private_key: Option<String>,
    /// Its passphrase.
    #[secret]
    pub private_key_passphrase: Option<String>,
    /// The request that is certified.
    pub csr: Option<String>,
    /// The subject: `CN=host,O=Example`, a map or a list; otherwise `CN`, `O`, `OU`, `C` and so on as single arguments.
    pub subject: Value,
    /// The serial number; else a random one.
    pub serial_number: Option<String>,
    /// When it begins to be valid; only with openssl 3.4 or newer.
    pub not_before: Option<String>,
    /// When it ends to be valid; only with openssl 3.4 or newer.
    pub not_after: Option<String>,
    /// For how many days it is valid; 365 by default.
    pub days_valid: Option<u64>,
}

impl CertificateArguments {
    /// What can be read from files.
    pub fn files(&self) -> [Option<&String>; 5] {
        [&self.signing_private_key, &self.signing_cert, &self.public_key, &self.private_key, &self.csr]
            .map(Option::as_ref)
    }
}

/// The request.
#[derive(Clone, Default)]
pub struct CertificateSpec {
    pub digest: String,
    pub given: CertificateArguments,
    /// Single parts of the subject, and extensions.
    pub further: Map,
}

impl CertificateSpec {
    /// Applies the signer's policy, which takes precedence.
    pub fn under(mut self, policy: &Map) -> CertificateSpec {
        let own = |field: &mut Option<String>, name: &str| {
            if let Some(value) = policy.get(name).filter(|value| !value.is_null()) {
                *field = Some(value.to_string());
            }
        };
        own(&mut self.given.signing_private_key, "signing_private_key");
        own(&mut self.given.signing_private_key_passphrase, "signing_private_key_passphrase");
        own(&mut self.given.signing_cert, "signing_cert");
        own(&mut self.given.not_before, "not_before");
        own(&mut self.given.not_after, "not_after");
        if let Some(days) = policy.get("days_valid").and_then(Value::as_i64) {
            self.given.days_valid = u64::try_from(days).ok();
        }
        if let Some(digest) = policy.get("digest").or_else(|| policy.get("algorithm")) {
            self.digest = digest.to_string();
        }
        if let Some(subject) = policy.get("subject") {
            self.given.subject = match (&self.given.subject, subject) {
                (Value::Map(given), Value::Map(set)) => {
                    let mut merged = given.clone();
                    merged.extend(set.iter().map(|(key, value)| (key.clone(), value.clone())));
                    Value::Map(merged)
                }
                _ => subject.clone(),
            };
        }
        let parts =
            super::subject::PARTS.iter().map(|(name, ..)| *name).chain(extensions::KNOWN.iter().map(|(name, _)| *name));
        for name in parts {
            if let Some(value) = policy.get(name) {
                self.further.insert(name, value.clone());
            }
        }
        self
    }

    pub fn subject(&self) -> Result<DistinguishedName> {
        DistinguishedName::new(&self.given.subject, &self.further)
    }

    /// Creates a signing request in memory: nothing is written.
    pub fn request(&self, machine: &dyn Probe) -> Result<ParsedCertificate> {
        let place = self.given.private_key.as_deref().ok_or_else(|| Error::arguments("private_key is missing"))?;
        let key = KeySource { place, passphrase: self.given.private_key_passphrase.as_deref() };
        let settings =
            format!("[req]\ndistinguished_name = dn\nprompt = no\n[dn]\n{}", extensions::section(&self.further, None)?);
        let subject = self.subject()?.slashed()?;
        let has_extensions = settings.trim_end().lines().last() != Some("[ext]");
        let mut run =
            OpensslCommand::new(["req", "-new", "-utf8", "-config", "settings", "-outform", "DER", "-subj", &subject]);
        if has_extensions {
            run = run.and(["-reqexts", "ext"]);
        }
        let run = key.add(run.and([&*format!("-{}", digest(&self.digest)?)]), "-key", "-passin", "key");
        let made = run.part("settings", settings).output(machine)?;
        ParsedCertificate::request(&made).ok_or_else(|| Error::failed("openssl made a request that can't be read"))
    }

    /// Creates a certificate in memory: nothing is written.
    pub fn certificate(&self, machine: &dyn Probe) -> Result<ParsedCertificate> {
        let place = self.given.signing_private_key.as_deref().ok_or_else(|| {
            Error::arguments("signing_private_key is missing").hint("give it, or a signing_policy that has it")
        })?;
        let signer = KeySource { place, passphrase: self.given.signing_private_key_passphrase.as_deref() };
        let request = self
            .given
            .csr
            .as_deref()
            .map(|place| read(machine, place, "request", ParsedCertificate::request))
            .transpose()?;
        let subject = self.subject()?.slashed()?;
        let settings = extensions::section(&self.further, request.as_ref())?;
        let digest = format!("-{}", digest(&self.digest)?);
        let mut run = OpensslCommand::new([
            "x509",
            "-new",
            "-outform",
            "DER",
            "-subj",
            &subject,
            "-extfile",
            "settings",
            "-extensions",
            "ext",
        ]);
        run = run.and([&*digest]).part("settings", settings);
        run = match &self.given.serial_number {
            Some(serial) => run.and(["-set_serial", &*serial_number(serial)?]),
            None => run,
        };
        run = match (&self.given.not_before, &self.given.not_after) {
            (None, None) => run.and(["-days", &*self.given.days_valid.unwrap_or(365).to_string()]),
            (before, after) => {
                let mut run = run;
                for (option, text) in [("-not_before", before), ("-not_after", after)] {
                    if let Some(text) = text {
                        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                        run = run.and([option, &*format!("{digits}Z")]);
                    }
                }
                if after.is_none() {
                    run.and(["-days", &*self.given.days_valid.unwrap_or(365).to_string()])
                } else {
                    run
                }
            }
        };
        let run = match self.given.signing_cert.as_deref() {
            None => signer.add(run, "-key", "-passin", "signing-key"),
            Some(place) => {
                let ca = read(machine, place, "certificate", ParsedCertificate::certificate)?;
                let public = self.public(machine, request.as_ref())?;
                let run = run.and(["-force_pubkey", "public", "-CA", "ca"]);
                let run = run.part("public", public).part("ca", pem("CERTIFICATE", &ca.der));
                signer.add(run, "-CAkey", "-passin", "signing-key")
            }
        };
        let made = run.output(machine)?;
        ParsedCertificate::certificate(&made)
            .ok_or_else(|| Error::failed("openssl made a certificate that can't be read"))
    }

    /// The public key to certify.
    fn public(&self, machine: &dyn Probe, request: Option<&ParsedCertificate>) -> Result<String> {
        if let Some(place) = self.given.private_key.as_deref() {
            return KeySource { place, passphrase: self.given.private_key_passphrase.as_deref() }.public(machine);
        }
        if let Some(place) = self.given.public_key.as_deref() {
            let bytes = content(machine, place)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.contains("BEGIN PUBLIC KEY") {
                return Ok(text);
            }
            if let Some(known) = ParsedCertificate::certificate(&bytes).or_else(|| ParsedCertificate::request(&bytes)) {
                return Ok(public_pem(&known.public_key));
            }
            return KeySource { place, passphrase: None }.public(machine);
        }
        request.map(|request| public_pem(&request.public_key)).ok_or_else(|| {
            Error::arguments(
                "This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or \
                 csr to derive public key to sign",
            )
        })
    }
}

/// The content of a path, or the text itself.
pub fn content(machine: &dyn Probe, place: &str) -> Result<Vec<u8>> {
    if place.contains("-----BEGIN") {
        return Ok(place.as_bytes().to_vec());
    }
    let path = super::super::file::absolute(machine, place)?;
    machine.read(&path).map_err(|error| Error::io("read", &path, &error))
}

pub fn read(
    machine: &dyn Probe,
    place: &str,
    what: &str,
    parse: fn(&[u8]) -> Option<ParsedCertificate>,
) -> Result<ParsedCertificate> {
    let shown = if place.contains("-----BEGIN") { "the text" } else { place };
    parse(&content(machine, place)?).ok_or_else(|| Error::failed(format!("{shown} has no {what} in it")))
}

/// openssl's name of a digest.
fn digest(name: &str) -> Result<&'static str> {
    let name = name.to_lowercase().replace(['-', '_'], "");
    ["sha224", "sha256", "sha384", "sha512", "sha512224", "sha512256", "sha3224", "sha3256", "sha3384", "sha3512"]
        .into_iter()
        .find(|known| *known == name)
        .map(|known| match known {
            "sha512224" => "sha512-224",
            "sha512256" => "sha512-256",
            "sha3224" => "sha3-224",
            "sha3256" => "sha3-256",
            "sha3384" => "sha3-384",
            "sha3512" => "sha3-512",
            other => other,
        })
        .ok_or_else(|| Error::arguments(format!("Invalid value '{name}' for digest")))
}

/// The digest of a signature, by its object identifier; `None` if the kind of key implies it.
pub fn digest_of(signature: &str) -> Option<&'static str> {
    match signature {
        "1.2.840.113549.1.1.5" | "1.2.840.10045.4.1" => Some("sha1"),
        "1.2.840.113549.1.1.14" | "1.2.840.10045.4.3.1" => Some("sha224"),
        "1.2.840.113549.1.1.11" | "1.2.840.10045.4.3.2" => Some("sha256"),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some("sha384"),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some("sha512"),
        _ => None,
    }
}

/// Parses `0A:1B`, `0x0a1b` or a number.
fn serial_number(text: &str) -> Result<String> {
    let bare = text.trim().replace(':', "");
    let hex = bare.strip_prefix("0x").unwrap_or(&bare);
    let number = !text.contains(':') && !text.starts_with("0x") && bare.bytes().all(|byte| byte.is_ascii_digit());
    match (number, !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        (true, _) if !bare.is_empty() => Ok(bare),
        (false, true) => Ok(format!("0x{hex}")),
        _ => Err(Error::arguments(format!("serial_number: '{text}' is no number"))),
    }
}
