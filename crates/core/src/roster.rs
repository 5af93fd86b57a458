//! [`Entry`]: a target as its roster describes it.

use std::path::PathBuf;

use crate::secret::Secret;
use crate::value::Map;

/// All that a roster says: the targets, and the groups they are in.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// In the order of the source; ids differ.
    pub entries: Vec<Entry>,
    /// A group's name and the target expression it stands for, in compound form.
    pub nodegroups: Vec<(String, String)>,
}

impl Roster {
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }
}

/// How to reach one target. What is `None` is left to `~/.ssh/config` and the defaults.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: String,
    /// A name or an address.
    pub host: String,
    pub port: Option<u16>,
    pub user: Option<String>,
    /// `ssh`, `openssh` or `local`.
    pub transport: String,
    pub password: Option<Secret>,
    /// Private keys to try, before those of the defaults.
    pub keys: Vec<PathBuf>,
    pub key_password: Option<Secret>,
    pub certificate: Option<PathBuf>,
    /// Only the keys named, none that an ssh-agent offers besides.
    pub identities_only: bool,
    pub proxy_jump: Option<String>,
    pub known_hosts: Option<PathBuf>,
    /// Take a host key that was never seen, and remember it (rule R8).
    pub accept_new: bool,
    pub escalate: Option<Escalate>,
    /// Ask for a terminal: `requiretty` in sudoers needs one.
    pub tty: bool,
    /// Seconds to connect and log in.
    pub timeout: Option<u32>,
    /// Where the agent is put on the target (Salt's `thin_dir`).
    pub agent_dir: Option<String>,
    /// The target's configuration (Salt's `minion_opts`).
    pub options: Map,
    /// Grains that the roster gives, over those that the target has.
    pub grains: Map,
    /// Pillar that the roster gives.
    pub pillar: Map,
    /// Where it was written, for messages: `roster:12`.
    pub origin: String,
}

/// Becoming another user after the login.
#[derive(Clone, Debug)]
pub struct Escalate {
    pub method: Method,
    /// Whom to become.
    pub user: String,
    pub password: Option<Secret>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Sudo,
    Su,
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

impl Entry {
    pub fn new(id: impl Into<String>, host: impl Into<String>) -> Entry {
        Entry {
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
}
