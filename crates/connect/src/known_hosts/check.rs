//! [`check`]: compares the key of a host with the recorded ones.

use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use super::known_host::{KnownHost, Marker, name};

/// The result of comparing the key of a host with known_hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostKeyVerdict {
    Known,
    /// Nothing is recorded for the host.
    Unknown {
        fingerprint: String,
    },
    /// Another key is recorded. If it is of another type, the host may have an additional key, but
    /// that looks the same as an attack.
    Changed {
        /// `~/.ssh/known_hosts:3`.
        origin: String,
        recorded: String,
        shown: String,
        same_type: bool,
    },
    Revoked {
        origin: String,
    },
    /// A trusted authority signed the certificate, but it is not valid for this host and time, and the
    /// key itself isn't recorded.
    BadCertificate {
        why: String,
    },
}

/// Checks authorities first, then recorded keys. A revoked key is always refused.
///
/// With a `HostKeyAlias`, pass that as `host` and 22 as `port`. `now` is in seconds since 1970.
pub fn check(entries: &[KnownHost], host: &str, port: u16, shown: &PublicKeyOrCertificate, now: u64) -> HostKeyVerdict {
    let verdict = check_name(entries, host, &name(host, port), shown, now);
    // As in ssh: a key that is recorded for the host without a port is valid on every port, if the host
    // has no entry with this port.
    match verdict {
        HostKeyVerdict::Known | HostKeyVerdict::Revoked { .. } => verdict,
        _ if port != 22 => match (check_name(entries, host, &name(host, 22), shown, now), &verdict) {
            (revoked @ HostKeyVerdict::Revoked { .. }, _) => revoked,
            (HostKeyVerdict::Known, HostKeyVerdict::Unknown { .. }) => HostKeyVerdict::Known,
            (bad @ HostKeyVerdict::BadCertificate { .. }, HostKeyVerdict::Unknown { .. }) => bad,
            _ => verdict,
        },
        _ => verdict,
    }
}

/// The line that makes a key known: the line of the key itself, or of the authority that signed its certificate.
pub fn recorded_at<'e>(
    entries: &'e [KnownHost],
    host: &str,
    port: u16,
    shown: &PublicKeyOrCertificate,
) -> Option<&'e str> {
    let (key, signer) = (shown.public_key(), shown.certificate().map(Certificate::signature_key));
    let matches = |entry: &&KnownHost| match entry.marker {
        Marker::None => entry.key.key_data() == key.key_data(),
        Marker::CertAuthority => signer == Some(entry.key.key_data()),
        Marker::Revoked => false,
    };
    let names = [name(host, port), name(host, 22)];
    let of = |name: &String| entries.iter().filter(|entry| entry.hosts.contain(name)).find(matches);
    names.iter().find_map(of).map(|entry| entry.origin.as_str())
}

/// The types of host keys to request first: those that can be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTypes {
    /// The types of recorded keys, in the order of the files, each once.
    pub algorithms: Vec<Algorithm>,
    /// An authority is trusted for this host: request certificates before keys.
    pub certificates: bool,
}

pub fn key_types(entries: &[KnownHost], host: &str, port: u16) -> KeyTypes {
    let of = |name: &str| {
        let mut types = KeyTypes::default();
        for entry in entries.iter().filter(|entry| entry.hosts.contain(name)) {
            match entry.marker {
                Marker::None if !types.algorithms.contains(&entry.key.algorithm()) => {
                    types.algorithms.push(entry.key.algorithm());
                }
                Marker::CertAuthority => types.certificates = true,
                _ => {}
            }
        }
        types
    };
    let types = of(&name(host, port));
    if types == KeyTypes::default() { of(&name(host, 22)) } else { types }
}

fn check_name(
    entries: &[KnownHost],
    host: &str,
    name: &str,
    shown: &PublicKeyOrCertificate,
    now: u64,
) -> HostKeyVerdict {
    let of = |marker| entries.iter().filter(move |entry| entry.marker == marker && entry.hosts.contain(name));
    let key = shown.public_key();
    let signer = shown.certificate().map(Certificate::signature_key);
    for entry in of(Marker::Revoked) {
        if entry.key.key_data() == key.key_data() || signer == Some(entry.key.key_data()) {
            return HostKeyVerdict::Revoked { origin: entry.origin.clone() };
        }
    }
    let mut bad = None;
    if let Some(certificate) = shown.certificate()
        && let Some(authority) = of(Marker::CertAuthority).find(|entry| signer == Some(entry.key.key_data()))
    {
        match check_certificate(certificate, &authority.key, host, now) {
            Ok(()) => return HostKeyVerdict::Known,
            Err(why) => bad = Some(HostKeyVerdict::BadCertificate { why }),
        }
    }
    let mut other: Option<&KnownHost> = None;
    for entry in of(Marker::None) {
        if entry.key.key_data() == key.key_data() {
            return HostKeyVerdict::Known;
        }
        let same_type = entry.key.algorithm() == key.algorithm();
        if other.is_none_or(|other| same_type && other.key.algorithm() != key.algorithm()) {
            other = Some(entry);
        }
    }
    match (other, bad) {
        (Some(entry), _) => HostKeyVerdict::Changed {
            origin: entry.origin.clone(),
            recorded: fingerprint(&entry.key),
            shown: fingerprint(&key),
            same_type: entry.key.algorithm() == key.algorithm(),
        },
        (None, Some(bad)) => bad,
        (None, None) => HostKeyVerdict::Unknown { fingerprint: fingerprint(&key) },
    }
}

/// `ssh-ed25519 SHA256:…`.
pub fn fingerprint(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm().as_str(), key.fingerprint(HashAlg::Sha256))
}

/// The size of an RSA key, for `RequiredRSASize`; `None` for other keys.
pub fn rsa_bits(key: &PublicKey) -> Option<u32> {
    let modulus = key.key_data().rsa()?.n().as_positive_bytes()?;
    let first = modulus.first()?;
    u32::try_from(modulus.len()).ok().map(|bytes| bytes * 8 - first.leading_zeros())
}

fn check_certificate(certificate: &Certificate, authority: &PublicKey, host: &str, now: u64) -> Result<(), String> {
    let id = format!("the host certificate '{}'", certificate.key_id());
    if certificate.cert_type() != CertType::Host {
        return Err(format!("{id} is for users, not for hosts"));
    }
    // SHA-1 can be forged; ssh doesn't accept it either.
    if matches!(certificate.signature().algorithm(), Algorithm::Rsa { hash: None } | Algorithm::Dsa) {
        return Err(format!(
            "{id} is signed by an algorithm that is no longer safe ({})",
            certificate.signature().algorithm()
        ));
    }
    if now < certificate.valid_after() {
        return Err(format!("{id} is not valid yet (the clocks of both sides may differ)"));
    }
    if now >= certificate.valid_before() {
        return Err(format!("{id} has expired; sign the host key again"));
    }
    let names = certificate.valid_principals();
    if !names.is_empty() && !names.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return Err(format!("{id} is for {}, not for {host}", names.join(", ")));
    }
    if let Some((option, _)) = certificate.critical_options().iter().next() {
        return Err(format!("{id} has the critical option '{option}', which no host certificate may have"));
    }
    certificate
        .validate_at(now, [&authority.fingerprint(HashAlg::Sha256)])
        .map_err(|_| format!("the signature of {id} is wrong"))
}
