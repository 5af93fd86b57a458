//! [`RosterEntry`]: a target as its roster describes it.

use std::path::PathBuf;

use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::secret::{Secret, sealed};
use crate::value::Map;

/// The contents of a roster: its targets and groups.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// In the order of the source; ids are unique.
    pub entries: Vec<RosterEntry>,
    /// Each group's name and its target expression in compound form.
    pub nodegroups: Vec<(String, String)>,
}

impl Roster {
    pub fn get(&self, id: &str) -> Option<&RosterEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }
}

/// How to reach a target. Fields that are `None` are taken from `~/.ssh/config` and the defaults.
#[derive(Clone, Debug, Encode, Decode)]
pub struct RosterEntry {
    #[n(0)]
    pub id: String,
    /// A name or an address.
    #[n(1)]
    pub host: String,
    #[n(2)]
    pub port: Option<u16>,
    #[n(3)]
    pub user: Option<String>,
    /// `ssh`, `openssh` or `local`.
    #[n(4)]
    pub transport: String,
    #[cbor(n(5), with = "sealed")]
    pub password: Option<Secret>,
    /// Private keys to try before the default ones.
    #[n(6)]
    pub keys: Vec<PathBuf>,
    #[cbor(n(7), with = "sealed")]
    pub key_password: Option<Secret>,
    #[n(8)]
    pub certificate: Option<PathBuf>,
    /// Use only the named keys, and none of an ssh-agent.
    #[n(9)]
    pub identities_only: bool,
    #[n(10)]
    pub proxy_jump: Option<String>,
    #[n(11)]
    pub known_hosts: Option<PathBuf>,
    /// Accept an unknown host key and store it (`docs/security-rules.md#r8`).
    #[n(12)]
    pub accept_new: bool,
    #[n(13)]
    pub escalate: Option<Escalate>,
    /// Request a terminal, which sudo needs with `requiretty`.
    #[n(14)]
    pub tty: bool,
    /// The time limit for connecting and logging in, in seconds.
    #[n(15)]
    pub timeout: Option<u32>,
    /// The agent's directory on the target (Salt's `thin_dir`).
    #[n(16)]
    pub agent_dir: Option<String>,
    /// The target's configuration (Salt's `minion_opts`).
    #[n(17)]
    pub options: Map,
    /// Grains from the roster, which override the target's own.
    #[n(18)]
    pub grains: Map,
    /// Pillar from the roster.
    #[n(19)]
    pub pillar: Map,
    /// The place of the entry for messages, such as `roster:12`.
    #[n(20)]
    pub origin: String,
}

/// A number derived from a target's id, the same as Salt's: the grain `server_id`.
pub fn server_id(id: &str) -> i64 {
    let hash = Sha256::digest(id);
    let last = hash.iter().skip(28).fold(0u32, |number, byte| number << 8 | u32::from(*byte));
    i64::from(last & 0x7fff_ffff)
}

/// How to become another user after the login.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Escalate {
    #[n(0)]
    pub method: Method,
    /// The user to become.
    #[n(1)]
    pub user: String,
    #[cbor(n(2), with = "sealed")]
    pub password: Option<Secret>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Method {
    #[n(0)]
    Sudo,
    #[n(1)]
    Su,
    #[n(2)]
    Doas,
}

impl Method {
    pub const ALL: [Method; 3] = [Method::Sudo, Method::Su, Method::Doas];

    pub fn name(self) -> &'static str {
        match self {
            Method::Sudo => "sudo",
            Method::Su => "su",
            Method::Doas => "doas",
        }
    }
}

impl RosterEntry {
    pub fn new(id: impl Into<String>, host: impl Into<String>) -> RosterEntry {
        RosterEntry {
            id: id.into(),
            host: host.into(),
            port: None,
            user: None,
            transport: "ssh".into(),
            password: None,
            keys: Vec::new(),
            key_password: None,
            certificate: None,
            identities_only: false,
            proxy_jump: None,
            known_hosts: None,
            accept_new: false,
            escalate: None,
            tty: false,
            timeout: None,
            agent_dir: None,
            options: Map::new(),
            grains: Map::new(),
            pillar: Map::new(),
            origin: String::new(),
        }
    }

    /// The id that templates and functions see. It differs from the name in results, `local`, only for this machine:
    /// rosters refuse another id in a target's options.
    pub fn minion_id(&self) -> String {
        self.options.get("id").map_or_else(|| self.id.clone(), ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_salts() {
        // The value of Salt 3008.3 for a minion with this id.
        assert_eq!(server_id("vm"), 2_067_164_805);
    }
}
