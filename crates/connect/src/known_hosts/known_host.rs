//! [`KnownHost`]: a line of known_hosts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::PublicKey;
use sha1::Sha1;

use crate::ssh_config::matches_any;

/// A key that is recorded for some hosts.
#[derive(Clone, Debug)]
pub struct KnownHost {
    pub marker: Marker,
    pub hosts: Hosts,
    pub key: PublicKey,
    /// `~/.ssh/known_hosts:3`.
    pub origin: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The key is a host key.
    None,
    /// The key signs hosts' certificates.
    CertAuthority,
    /// The key must not be accepted, neither as a host key nor as an authority.
    Revoked,
}

/// The hosts of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Names, addresses and patterns, in lower case; `!` excludes.
    Patterns(Vec<String>),
    /// One name, stored as a salted hash.
    Hashed { salt: Vec<u8>, hash: Vec<u8> },
}

impl Hosts {
    pub fn contain(&self, name: &str) -> bool {
        match self {
            Hosts::Patterns(patterns) => matches_any(name, patterns.iter().map(String::as_str)),
            Hosts::Hashed { salt, hash } => hmac(salt, name) == *hash,
        }
    }

    fn parse(text: &str) -> Result<Hosts, String> {
        let Some(hashed) = text.strip_prefix("|1|") else {
            return match text.starts_with('|') {
                true => Err("the hash algorithm of the name is not known".to_owned()),
                false => Ok(Hosts::Patterns(text.split(',').map(str::to_ascii_lowercase).collect())),
            };
        };
        let decoded = hashed.split_once('|').and_then(|(salt, hash)| {
            Some(Hosts::Hashed { salt: STANDARD.decode(salt).ok()?, hash: STANDARD.decode(hash).ok()? })
        });
        decoded.ok_or_else(|| "the hashed name is not base64".to_owned())
    }
}

/// A name as written in known_hosts: with the port unless that is 22.
pub fn name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

/// The hashed form of a name.
pub fn hashed(name: &str, salt: &[u8]) -> String {
    format!("|1|{}|{}", STANDARD.encode(salt), STANDARD.encode(hmac(salt, name)))
}

fn hmac(salt: &[u8], name: &str) -> Vec<u8> {
    Hmac::<Sha1>::new_from_slice(salt)
        .map(|mac| mac.chain_update(name.as_bytes()).finalize().into_bytes().to_vec())
        // HMAC accepts a key of any length; if it did not, the empty hash would match no entry.
        .unwrap_or_default()
}

/// Parses a line; `None` for an empty line and a comment.
pub fn line(text: &str, origin: &str) -> Result<Option<KnownHost>, String> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let mut words = text.split_ascii_whitespace();
    let mut word = |what: &str| words.next().ok_or_else(|| format!("there is no {what}"));
    let first = word("host")?;
    let (marker, hosts) = match first {
        "@cert-authority" => (Marker::CertAuthority, word("host")?),
        "@revoked" => (Marker::Revoked, word("host")?),
        _ if first.starts_with('@') => return Err(format!("the marker '{first}' is not known")),
        _ => (Marker::None, first),
    };
    let (kind, key) = (word("key type")?, word("key")?);
    let key = PublicKey::from_openssh(&format!("{kind} {key}"))
        .map_err(|error| format!("the key cannot be read: {error}"))?;
    let hosts = Hosts::parse(hosts)?;
    Ok(Some(KnownHost { marker, hosts, key, origin: origin.to_owned() }))
}
