//! `x509.csr_managed` and `x509.certificate_managed`.
//!
//! Planning makes openssl create the requested object in memory and compares it with the existing one. That is exact,
//! and the compared object is the one that is written.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::certificate::{self, CertificateArguments, CertificateSpec, digest_of};
use super::parsed::{ParsedCertificate, blocks, pem};
use super::place::TargetFile;
use super::{extensions, subject};
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that there is a certificate request as specified.
///
/// ```yaml
/// /etc/ssl/web.csr:
///   x509.csr_managed:
///     - private_key: /etc/ssl/private/web.key
///     - CN: www.example.com
///     - subjectAltName: DNS:www.example.com
/// ```
#[state("x509.csr_managed", required("private_key"))]
pub struct CsrManaged {
    /// The file.
    name: String,
    /// The private key: a path, or the key itself.
    #[secret]
    private_key: String,
    /// The pass phrase of the private key.
    #[secret]
    private_key_passphrase: Option<String>,
    /// The digest that it is signed with.
    digest: Option<String>,
    /// As `digest`.
    algorithm: Option<String>,
    /// `pem` or `der`.
    encoding: Option<String>,
    /// The subject: `CN=host,O=Example`, a map or a list; otherwise `CN`, `O`, `OU`, `C` and so on as single arguments.
    subject: Value,
    /// The file's owner.
    user: Value,
    /// The file's group.
    group: Value,
    /// Its permissions.
    mode: Value,
    /// Create parent directories.
    makedirs: Flag,
    /// Parts of the subject, and extensions: `basicConstraints`, `keyUsage`, `subjectAltName` …
    kwargs: Map,
}

impl State for CsrManaged {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let encoding = encoding(self.encoding.as_deref())?;
        let spec = CertificateSpec {
            digest: self.digest.clone().or_else(|| self.algorithm.clone()).unwrap_or_else(|| "sha256".into()),
            given: CertificateArguments {
                private_key: Some(self.private_key.clone()),
                private_key_passphrase: self.private_key_passphrase.clone(),
                subject: self.subject.clone(),
                ..CertificateArguments::default()
            },
            further: further(&self.kwargs)?,
        };
        let place = TargetFile {
            path: &self.name,
            user: &self.user,
            group: &self.group,
            mode: mode(&self.mode)?,
            makedirs: self.makedirs.0,
            default: 0o644,
        };
        if let Some(text) = place.fault(machine, step.test) {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let what = "certificate signing request";
        let new = match spec.request(machine) {
            Ok(new) => new,
            Err(error) => return unready(machine, &place, what, step, &spec, &error),
        };
        let old = place.stat(machine).map(|_| certificate::content(machine, &self.name)).transpose()?;
        let mut changes = Map::new();
        let current = old.as_deref().and_then(ParsedCertificate::request);
        match (&old, &current) {
            (None, _) => {
                changes.insert("created", self.name.as_str());
            }
            (Some(_), None) => {
                changes.insert("replaced", self.name.as_str());
            }
            (Some(bytes), Some(current)) => {
                digests(&spec, current, &mut changes);
                encodings(bytes, encoding, &mut changes);
                if current.public_key != new.public_key {
                    changes.insert("private_key", true);
                }
                compare(current, &new, &mut changes);
            }
        }
        let content = encoded(&new, encoding, "CERTIFICATE REQUEST", &[]);
        decide(machine, &place, what, changes, current.is_some(), content)
    }

    fn touches(&self) -> Touches {
        touches(&self.name, [Some(&self.private_key)])
    }
}

/// Makes sure that there is a certificate as specified that is not about to expire.
///
/// ```yaml
/// /etc/ssl/web.crt:
///   x509.certificate_managed:
///     - signing_private_key: /etc/ssl/private/ca.key
///     - signing_cert: /etc/ssl/ca.crt
///     - private_key: /etc/ssl/private/web.key
///     - CN: www.example.com
///     - days_valid: 90
///     - days_remaining: 30
/// ```
///
/// Without `signing_cert` it is signed by itself.
#[state("x509.certificate_managed")]
pub struct CertificateManaged {
    /// The file.
    name: String,
    /// Make it anew when it is valid for fewer days than these; 90 unless told, 0 for never.
    days_remaining: Option<u64>,
    /// Refused: let the CA's own states sign, or give its key with `signing_private_key`.
    ca_server: Option<String>,
    /// The policy of `x509_signing_policies` to sign under. What it says wins.
    signing_policy: Option<String>,
    /// `pem` or `der`.
    encoding: Option<String>,
    /// Certificates to put behind it: paths or texts.
    append_certs: Vec<String>,
    /// The digest that it is signed with.
    digest: Option<String>,
    /// As `digest`.
    algorithm: Option<String>,
    #[flatten]
    given: CertificateArguments,
    /// The file's owner.
    user: Value,
    /// The file's group.
    group: Value,
    /// Its permissions.
    mode: Value,
    /// Create parent directories.
    makedirs: Flag,
    /// Parts of the subject, and extensions: `basicConstraints`, `keyUsage`, `subjectAltName` …
    kwargs: Map,
}

impl State for CertificateManaged {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let encoding = encoding(self.encoding.as_deref())?;
        let spec = self.spec(machine)?;
        let place = self.file()?;
        if let Some(text) = place.fault(machine, step.test) {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let new = match spec.certificate(machine) {
            Ok(new) => new,
            Err(error) => return unready(machine, &place, "certificate", step, &spec, &error),
        };
        let old = place.stat(machine).map(|_| certificate::content(machine, &self.name)).transpose()?;
        let chain = self.chain(machine)?;
        let mut changes = Map::new();
        let current = old.as_deref().and_then(ParsedCertificate::certificate);
        match (&old, &current) {
            (None, _) => {
                changes.insert("created", self.name.as_str());
            }
            (Some(_), None) => {
                changes.insert("replaced", self.name.as_str());
            }
            (Some(bytes), Some(current)) => {
                encodings(bytes, encoding, &mut changes);
                let left = current.not_after - machine.now() as i64;
                if left < self.days_remaining.unwrap_or(90) as i64 * 86400 {
                    changes.insert("expiration", true);
                }
                if !same_chain(bytes, &chain) {
                    changes.insert("additional_certs", true);
                }
                digests(&spec, current, &mut changes);
                if let Some(serial) = self.given.serial_number.as_ref().filter(|_| current.serial != new.serial) {
                    changes.insert("serial_number", serial.as_str());
                }
                if current.public_key != new.public_key {
                    changes.insert("private_key", true);
                }
                if let Some(ca) = &spec.given.signing_cert
                    && !super::functions::signed_by(machine, &current.der, ca)?
                {
                    changes.insert("signing_private_key", true);
                }
                compare(current, &new, &mut changes);
            }
        }
        // Only the encoding differs: the signed content stays.
        let same = current.as_ref().filter(|_| {
            let kept = ["additional_certs", "encoding"];
            changes.keys().all(|key| key.as_str().is_some_and(|key| kept.contains(&key)))
        });
        let content = encoded(same.unwrap_or(&new), encoding, "CERTIFICATE", &chain);
        decide(machine, &place, "certificate", changes, current.is_some(), content)
    }

    fn touches(&self) -> Touches {
        let all: Vec<Option<&String>> =
            self.given.files().into_iter().chain(self.append_certs.iter().map(Some)).collect();
        // With a policy, the signer's files are only known on the machine.
        if self.signing_policy.is_some() { Touches::everything() } else { touches(&self.name, all) }
    }
}

impl CertificateManaged {
    fn spec(&self, machine: &dyn Probe) -> Result<CertificateSpec> {
        if self.ca_server.is_some() {
            return Err(Error::arguments(
                "ca_server: certificates of another target's CA are not fetched by this state",
            )
            .hint("sign where the CA is, and bring the certificate here with file.managed"));
        }
        let spec = CertificateSpec {
            digest: self.digest.clone().or_else(|| self.algorithm.clone()).unwrap_or_else(|| "sha256".into()),
            given: self.given.clone(),
            further: further(&self.kwargs)?,
        };
        match &self.signing_policy {
            None => Ok(spec),
            Some(name) => Ok(spec.under(&policy(machine, name)?)),
        }
    }

    fn file(&self) -> Result<TargetFile<'_>> {
        Ok(TargetFile {
            path: &self.name,
            user: &self.user,
            group: &self.group,
            mode: mode(&self.mode)?,
            makedirs: self.makedirs.0,
            default: 0o644,
        })
    }

    /// The certificates that follow it in the file.
    fn chain(&self, machine: &dyn Probe) -> Result<Vec<ParsedCertificate>> {
        let read = |place: &String| certificate::read(machine, place, "certificate", ParsedCertificate::certificate);
        self.append_certs.iter().map(read).collect()
    }
}

/// A policy from the configuration, otherwise from the pillar.
pub fn policy(machine: &dyn Probe, name: &str) -> Result<Map> {
    let own = machine.options().get("x509_signing_policies").cloned();
    let all = match own {
        Some(all) => Some(all),
        None => machine.pillar()?.get("x509_signing_policies").cloned(),
    };
    let found = all.as_ref().and_then(|all| all.as_map()?.get(name));
    match found {
        Some(Value::Map(policy)) => Ok(policy.clone()),
        Some(Value::List(items)) => Ok(items
            .iter()
            .filter_map(Value::as_map)
            .flat_map(|map| map.iter())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()),
        _ => Err(Error::failed(format!("signing_policy {name} does not exist."))
            .hint("define it in x509_signing_policies of the configuration or the pillar")),
    }
}

/// In a dry run a file that can't be read yet (a key that an earlier step creates) is no failure.
fn unready(
    machine: &dyn Probe,
    place: &TargetFile<'_>,
    what: &str,
    step: &Step<'_>,
    spec: &CertificateSpec,
    error: &Error,
) -> Result<Decision> {
    let missing = spec.given.files().into_iter().flatten().filter(|path| path.starts_with('/'));
    let missing =
        missing.filter(|path| machine.stat(std::path::Path::new(path.as_str()), true).ok().flatten().is_none()).count()
            > 0;
    if !(step.test && missing && place.stat(machine).is_none()) {
        return Ok(Decision::Settled(Verdict::bad(error.to_string())));
    }
    let dry = Verdict::would(format!("The {what} would have been created")).change("created", place.path);
    Ok(Decision::Settled(dry))
}

fn decide(
    machine: &dyn Probe,
    place: &TargetFile<'_>,
    what: &str,
    changes: Map,
    is_there: bool,
    content: Vec<u8>,
) -> Result<Decision> {
    if changes.is_empty() {
        let good = Verdict::good(format!("The {what} is in the correct state"));
        return place.plan(machine, None, good.clone(), good);
    }
    let verb = if is_there { "recreated" } else { "created" };
    let done = Verdict::good(format!("The {what} has been {verb}")).changes(changes.clone());
    let dry = Verdict::would(format!("The {what} would have been {verb}")).changes(changes);
    place.plan(machine, Some(content), done, dry)
}

fn digests(spec: &CertificateSpec, current: &ParsedCertificate, changes: &mut Map) {
    if digest_of(&current.signature).is_some_and(|known| known != spec.digest.to_lowercase().replace('-', "")) {
        changes.insert("digest", spec.digest.as_str());
    }
}

fn encodings(bytes: &[u8], encoding: &str, changes: &mut Map) {
    let known = if bytes.starts_with(b"-----") || std::str::from_utf8(bytes).is_ok() { "pem" } else { "der" };
    if known != encoding {
        changes.insert("encoding", encoding);
    }
}

fn compare(current: &ParsedCertificate, new: &ParsedCertificate, changes: &mut Map) {
    if current.subject != new.subject {
        changes.insert("subject_name", subject::shown(&new.subject));
    }
    if current.issuer != new.issuer {
        changes.insert("issuer_name", subject::shown(&new.issuer));
    }
    if let Some(differences) = extensions::differences(&current.extensions, &new.extensions) {
        changes.insert("extensions", differences);
    }
}

fn same_chain(bytes: &[u8], chain: &[ParsedCertificate]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let known: Vec<String> = blocks(&text).into_iter().skip(1).map(|(_, body)| body).collect();
    let wanted: Vec<String> =
        chain.iter().flat_map(|parsed| blocks(&pem("CERTIFICATE", &parsed.der))).map(|(_, body)| body).collect();
    known == wanted
}

pub fn encoded(parsed: &ParsedCertificate, encoding: &str, kind: &str, chain: &[ParsedCertificate]) -> Vec<u8> {
    match encoding {
        "der" => parsed.der.clone(),
        _ => {
            let rest: String = chain.iter().map(|parsed| pem("CERTIFICATE", &parsed.der)).collect();
            (pem(kind, &parsed.der) + &rest).into_bytes()
        }
    }
}

pub fn encoding(name: Option<&str>) -> Result<&'static str> {
    match name.unwrap_or("pem") {
        "pem" => Ok("pem"),
        "der" => Ok("der"),
        other => Err(Error::arguments(format!("Invalid value '{other}' for encoding. Valid: der, pem"))),
    }
}

pub fn mode(value: &Value) -> Result<Option<u32>> {
    match value {
        Value::Null => Ok(None),
        other => {
            let digits = other.to_string();
            let digits = digits.trim_start_matches("0o");
            u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o7777).map(Some).ok_or_else(|| {
                Error::arguments(format!("mode: '{other}' is no mode")).hint("give it in octal, as in 0644")
            })
        }
    }
}

/// Parts of a subject and extensions; any other argument is an error.
pub fn further(kwargs: &Map) -> Result<Map> {
    for name in kwargs.keys().filter_map(Value::as_str).filter(|name| !name.starts_with("__")) {
        let known = subject::PARTS.iter().any(|(part, ..)| *part == name)
            || extensions::KNOWN.iter().any(|(extension, _)| *extension == name)
            || matches!(
                name,
                "emailAddress" | "Email" | "name" | "backup" | "dir_mode" | "follow_symlinks" | "version" | "text"
            );
        if !known {
            let all =
                subject::PARTS.iter().map(|(part, ..)| *part).chain(extensions::KNOWN.iter().map(|(name, _)| *name));
            let hint = rocksalt_core::nearest::hint(name, all);
            return Err(Error::arguments(format!("there is no argument '{name}'{hint}")));
        }
    }
    Ok(kwargs.clone())
}

fn touches<'a>(name: &str, reads: impl IntoIterator<Item = Option<&'a String>>) -> Touches {
    let touches = Touches::nothing().writes(Thing::Path(name.to_owned()));
    let reads = reads.into_iter().flatten().filter(|path| path.starts_with('/'));
    reads.fold(touches, |touches, path| touches.reads(Thing::Path(path.clone())))
}
