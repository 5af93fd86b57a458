//! [`HostSettings`]: the settings of one host, and the parsers of single values.

use std::path::PathBuf;

use super::jump::Jump;
use super::keywords::Effect;

/// All settings of one host, with defaults filled in and tokens expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// The name or address to connect to, in lower case.
    pub hostname: String,
    pub user: String,
    pub port: u16,
    /// Private keys to try, in order.
    pub identity_files: Vec<PathBuf>,
    /// True if the configuration names none: then a missing file is no error.
    pub identity_files_are_default: bool,
    pub certificate_files: Vec<PathBuf>,
    pub identities_only: bool,
    pub identity_agent: IdentityAgent,
    /// The jump hosts, in order; empty for a direct connection. The settings of each are resolved by
    /// its own name, and the first one may have jump hosts itself.
    pub proxy_jump: Vec<Jump>,
    pub user_known_hosts_files: Vec<PathBuf>,
    pub global_known_hosts_files: Vec<PathBuf>,
    /// Used instead of the host's name in known_hosts and in certificates, without a port.
    pub host_key_alias: Option<String>,
    pub strict_host_key_checking: StrictHostKeyChecking,
    pub hash_known_hosts: bool,
    /// Authentication methods, in order; empty if the configuration names none.
    pub preferred_authentications: Vec<String>,
    pub pubkey_authentication: bool,
    pub password_authentication: bool,
    pub keyboard_interactive_authentication: bool,
    /// In seconds.
    pub connect_timeout: Option<u32>,
    pub connection_attempts: u32,
    /// In seconds; 0 disables the messages.
    pub server_alive_interval: u32,
    pub server_alive_count_max: u32,
    pub address_family: AddressFamily,
    pub bind_address: Option<String>,
    pub compression: bool,
    /// Lists of algorithms as written: a leading `+`, `-` or `^` modifies the default.
    pub kex_algorithms: Option<String>,
    pub ciphers: Option<String>,
    pub macs: Option<String>,
    pub host_key_algorithms: Option<String>,
    pub pubkey_accepted_algorithms: Option<String>,
    pub ca_signature_algorithms: Option<String>,
    /// An RSA key with fewer bits is refused, both as a host key and as a user key.
    pub required_rsa_size: u32,
    /// Settings that the native transport does not support.
    pub unsupported: Vec<UnsupportedSetting>,
}

impl HostSettings {
    /// The settings without which the native transport must not connect; `transport: openssh` supports them.
    pub fn refused(&self) -> impl Iterator<Item = &UnsupportedSetting> {
        self.unsupported.iter().filter(|setting| setting.effect == Effect::Refuse)
    }
}

/// A setting that the native transport does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedSetting {
    /// The setting as written: `ProxyCommand`, `Match exec`.
    pub setting: String,
    /// `~/.ssh/config:12`.
    pub origin: String,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum IdentityAgent {
    /// The agent that `SSH_AUTH_SOCK` names.
    #[default]
    Environment,
    /// No agent.
    None,
    Socket(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StrictHostKeyChecking {
    Yes,
    /// ssh's own default: it asks the user. Rocksalt never asks, so an unknown key is refused.
    #[default]
    Ask,
    AcceptNew,
    /// ssh would accept any key. Rocksalt never does (docs/security-rules.md#r8).
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AddressFamily {
    #[default]
    Any,
    Inet,
    Inet6,
}

/// Parses `yes`, `no` and ssh's synonyms.
pub fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("'{text}' is neither yes nor no")),
    }
}

pub fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("'{text}' is no port")),
    }
}

pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

/// Parses seconds, or a time such as `1h30m`; `none` is `None`.
pub fn seconds(text: &str) -> Result<Option<u32>, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let wrong = || format!("'{text}' is no time");
    let mut total: u32 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: u32 = rest[..end].parse().map_err(|_| wrong())?;
        let mut units = rest[end..].chars();
        let unit = match units.next().map(|unit| unit.to_ascii_lowercase()) {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86400,
            Some('w') => 604_800,
            Some(_) => return Err(wrong()),
        };
        total = count.checked_mul(unit).and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
        rest = units.as_str();
    }
    if text.is_empty() { Err(wrong()) } else { Ok(Some(total)) }
}

pub fn strictness(text: &str) -> Result<StrictHostKeyChecking, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(StrictHostKeyChecking::Yes),
        "ask" => Ok(StrictHostKeyChecking::Ask),
        "accept-new" => Ok(StrictHostKeyChecking::AcceptNew),
        "no" | "false" | "off" => Ok(StrictHostKeyChecking::Off),
        _ => Err(format!("'{text}' is none of yes, ask, accept-new, no, off")),
    }
}

pub fn family(text: &str) -> Result<AddressFamily, String> {
    match text.to_ascii_lowercase().as_str() {
        "any" => Ok(AddressFamily::Any),
        "inet" => Ok(AddressFamily::Inet),
        "inet6" => Ok(AddressFamily::Inet6),
        _ => Err(format!("'{text}' is none of any, inet, inet6")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("30", Some(30)),
            ("1m30", Some(90)),
            ("1h30m", Some(5400)),
            ("2D", Some(172_800)),
            ("1w1s", Some(604_801)),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        assert_eq!(seconds("None"), Ok(None));
        for text in ["", "x", "1x", "m", "-1", "99999999999", "9999999w"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
