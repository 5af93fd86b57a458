//! Whether a host is who it should be (rule R8): strict, unless its roster entry takes new keys.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rocksalt_core::link::{Failure, Stage};
use russh::client;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKeyOrCertificate};

use super::Target;
use crate::known_hosts::{self, KeyTypes, KnownHosts, Verdict};

/// What host keys we ask for, best first.
pub const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// What is recorded about a host.
#[derive(Clone)]
pub struct Known {
    known: Arc<KnownHosts>,
    /// Under this name.
    host: String,
    port: u16,
    types: KeyTypes,
    accept_new: bool,
    hash_names: bool,
    /// Where a new key is written to.
    file: Option<PathBuf>,
}

impl Known {
    pub(super) fn read(target: &Target<'_>) -> Known {
        let settings = &target.settings;
        let files: Vec<PathBuf> = match &target.entry.known_hosts {
            Some(file) => vec![file.clone()],
            None => settings.user_known_hosts_files.iter().chain(&settings.global_known_hosts_files).cloned().collect(),
        };
        let known = KnownHosts::read(files.iter().map(PathBuf::as_path));
        let (host, port) = match &settings.host_key_alias {
            Some(alias) => (alias.clone(), 22),
            None => (target.key.address.clone(), target.key.port),
        };
        let types = known_hosts::key_types(&known.entries, &host, port);
        Known {
            known: Arc::new(known),
            host,
            port,
            types,
            // Only where the roster names the target: ssh's own configuration can make nothing laxer.
            accept_new: target.entry.accept_new,
            hash_names: settings.hash_known_hosts,
            file: files.into_iter().next(),
        }
    }

    /// Those that can be checked first: a host may have keys that nobody recorded.
    pub fn preferred_algorithms(&self) -> Vec<Algorithm> {
        let is_known = |algorithm: &Algorithm| {
            self.types.algorithms.iter().any(|known| match (known, algorithm) {
                (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                (known, algorithm) => known == algorithm,
            })
        };
        let (known, others): (Vec<Algorithm>, Vec<Algorithm>) = ALGORITHMS.into_iter().partition(is_known);
        known.into_iter().chain(others).collect()
    }

    pub fn has_authority(&self) -> bool {
        self.types.certificates
    }

    /// What to tell the person, if there is something.
    fn judge(&self, shown: &PublicKeyOrCertificate) -> Result<Option<String>, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let failure = |text: String| Failure::new(Stage::HostKey, text);
        let host = &self.host;
        match known_hosts::check(&self.known.entries, host, self.port, shown, now) {
            Verdict::Known => Ok(None),
            Verdict::Unknown { fingerprint } if self.accept_new => {
                self.learn(shown)?;
                Ok(Some(format!("the host key of {host} was new and is remembered now: {fingerprint}")))
            }
            Verdict::Unknown { fingerprint } => Err(failure(format!(
                "the host key of {host} is not known: it shows {fingerprint}"
            ))
            .hint(format!(
                "check the fingerprint and add the key to {}, or set `accept_new: True` for this target in the roster (--accept-new with --host)",
                self.file.as_deref().unwrap_or(Path::new("known_hosts")).display()
            ))),
            Verdict::Changed { origin, recorded, shown, .. } => Err(failure(format!(
                "the host key of {host} has changed: {origin} says {recorded}, it shows {shown}"
            ))
            .hint(format!(
                "somebody may be in the middle. If the host was set up anew, remove {origin} and check the new key"
            ))),
            Verdict::Revoked { origin } => Err(failure(format!("the host key of {host} was revoked in {origin}"))
                .hint("do not connect; the host needs a new key")),
            Verdict::CertificateBad { why } => {
                Err(failure(format!("{host}: {why}")).hint("have the host's certificate signed anew by your authority"))
            }
        }
    }

    fn learn(&self, shown: &PublicKeyOrCertificate) -> Result<(), Failure> {
        let failure = |text: String| Failure::new(Stage::HostKey, text);
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            return Err(failure(format!("{} shows a certificate of an authority that is not known", self.host))
                .hint("add a @cert-authority line to known_hosts"));
        };
        let Some(file) = &self.file else {
            return Err(failure("there is no known_hosts file to remember a key in".into()));
        };
        known_hosts::add(file, &self.host, self.port, key, self.hash_names).map_err(|error| {
            failure(format!("the host key of {} can't be remembered in {}: {error}", self.host, file.display()))
        })
    }
}

/// Judges the key during the key exchange; what it found is left in `found`.
pub struct Checker {
    known: Known,
    found: Arc<Mutex<Found>>,
}

/// What came of it.
#[derive(Default)]
pub struct Found {
    pub failure: Option<Failure>,
    /// A key that was taken without having been seen before; the person must hear of it.
    pub learnt: Option<String>,
}

impl Checker {
    pub fn new(known: Known, found: Arc<Mutex<Found>>) -> Checker {
        Checker { known, found }
    }
}

impl client::Handler for Checker {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let judged = self.known.judge(shown);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match judged {
            Ok(learnt) => {
                found.learnt = learnt;
                Ok(true)
            }
            Err(failure) => {
                found.failure = Some(failure);
                Ok(false)
            }
        }
    }
}
