//! Checks host keys (docs/security-rules.md#r8): strict, unless the roster entry accepts new keys.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rocksalt_core::link::{LinkFailure, Stage};
use russh::client;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKeyOrCertificate};

use super::LoginTarget;
use crate::known_hosts::{self, HostKeyVerdict, KeyTypes, KnownHosts};

/// The supported types of host keys, best first.
pub const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// The recorded keys of a host, and whether a new one is accepted.
#[derive(Clone)]
pub struct HostKeyPolicy {
    known: Arc<KnownHosts>,
    /// The name in known_hosts.
    host: String,
    port: u16,
    types: KeyTypes,
    accept_new: bool,
    hash_names: bool,
    /// The file to which a new key is added.
    file: Option<PathBuf>,
}

impl HostKeyPolicy {
    pub(super) fn read(target: &LoginTarget<'_>) -> HostKeyPolicy {
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
        HostKeyPolicy {
            known: Arc::new(known),
            host,
            port,
            types,
            // Only the roster can allow this: the ssh configuration can't make the check less strict.
            accept_new: target.entry.accept_new,
            hash_names: settings.hash_known_hosts,
            file: files.into_iter().next(),
        }
    }

    /// Types of recorded keys first: a host may also have keys that are not recorded.
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

    /// Checks the key of the host; returns a notice if the key was new and is recorded now.
    fn check(&self, shown: &PublicKeyOrCertificate) -> Result<Option<String>, LinkFailure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let failure = |text: String| LinkFailure::new(Stage::HostKey, text);
        let host = &self.host;
        match known_hosts::check(&self.known.entries, host, self.port, shown, now) {
            HostKeyVerdict::Known => Ok(None),
            HostKeyVerdict::Unknown { fingerprint } if self.accept_new => {
                self.record(shown)?;
                Ok(Some(format!("the host key of {host} was new and is recorded now: {fingerprint}")))
            }
            HostKeyVerdict::Unknown { fingerprint } => Err(failure(format!(
                "the host key of {host} is not known: it shows {fingerprint}"
            ))
            .hint(format!(
                "check the fingerprint and add the key to {}, or set `accept_new: True` for this target in the roster (--accept-new with --host)",
                self.file.as_deref().unwrap_or(Path::new("known_hosts")).display()
            ))),
            HostKeyVerdict::Changed { origin, recorded, shown, .. } => Err(failure(format!(
                "the host key of {host} has changed: {origin} says {recorded}, it shows {shown}"
            ))
            .hint(format!(
                "somebody may be in the middle. If the host was set up anew, remove {origin} and check the new key"
            ))),
            HostKeyVerdict::Revoked { origin } => Err(failure(format!("the host key of {host} was revoked in {origin}"))
                .hint("do not connect; the host needs a new key")),
            HostKeyVerdict::BadCertificate { why } => {
                Err(failure(format!("{host}: {why}")).hint("have the host certificate signed again by your authority"))
            }
        }
    }

    /// The fingerprint of a key that was accepted, and where it is recorded.
    fn describe(&self, shown: &PublicKeyOrCertificate) -> String {
        let fingerprint = known_hosts::fingerprint(&shown.public_key());
        match known_hosts::recorded_at(&self.known.entries, &self.host, self.port, shown) {
            Some(origin) => format!("{fingerprint}, recorded in {origin}"),
            None => format!("{fingerprint}, recorded now"),
        }
    }

    fn record(&self, shown: &PublicKeyOrCertificate) -> Result<(), LinkFailure> {
        let failure = |text: String| LinkFailure::new(Stage::HostKey, text);
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            return Err(failure(format!("{} shows a certificate of an authority that is not known", self.host))
                .hint("add a @cert-authority line to known_hosts"));
        };
        let Some(file) = &self.file else {
            return Err(failure("there is no known_hosts file to record a key in".into()));
        };
        known_hosts::add(file, &self.host, self.port, key, self.hash_names).map_err(|error| {
            failure(format!("the host key of {} can't be recorded in {}: {error}", self.host, file.display()))
        })
    }
}

/// Checks the host key during the key exchange; leaves the result in `result`.
pub struct HostKeyChecker {
    policy: HostKeyPolicy,
    result: Arc<Mutex<HostKeyResult>>,
}

/// The result of the check.
#[derive(Default)]
pub struct HostKeyResult {
    /// The fingerprint of the accepted key and the line that records it, for diagnostics.
    pub accepted: Option<String>,
    pub failure: Option<LinkFailure>,
    /// A notice for the user: a new key was accepted.
    pub recorded: Option<String>,
}

impl HostKeyChecker {
    pub fn new(policy: HostKeyPolicy, result: Arc<Mutex<HostKeyResult>>) -> HostKeyChecker {
        HostKeyChecker { policy, result }
    }
}

impl client::Handler for HostKeyChecker {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let checked = self.policy.check(shown);
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        match checked {
            Ok(recorded) => {
                result.accepted = Some(self.policy.describe(shown));
                result.recorded = recorded;
                Ok(true)
            }
            Err(failure) => {
                result.failure = Some(failure);
                Ok(false)
            }
        }
    }
}
