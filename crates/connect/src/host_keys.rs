//! [`HostKeys`]: looks up the recorded host key of a target, without connecting to it.

use std::path::PathBuf;

use rocksalt_core::roster::RosterEntry;
use russh::keys::HashAlg;

use crate::LocalUser;
use crate::known_hosts::{KnownHosts, Marker, named};
use crate::ssh_config::{self, Query, SshConfig};

/// The ssh configuration as it was when this was created.
pub struct HostKeys {
    local_user: LocalUser,
    config: Option<SshConfig>,
}

impl HostKeys {
    pub fn new(local_user: &LocalUser) -> HostKeys {
        HostKeys { local_user: local_user.clone(), config: ssh_config::load(&local_user.home).ok() }
    }

    /// The SHA-256 fingerprint of each target's key as hexadecimal bytes with colons between; `None` where no key is recorded.
    pub fn fingerprints(&self, entries: &[&RosterEntry]) -> Vec<Option<String>> {
        // Most targets share their known_hosts files.
        let mut read: Vec<(Vec<PathBuf>, KnownHosts)> = Vec::new();
        entries.iter().map(|entry| self.fingerprint(entry, &mut read)).collect()
    }

    fn fingerprint(&self, entry: &RosterEntry, read: &mut Vec<(Vec<PathBuf>, KnownHosts)>) -> Option<String> {
        if entry.transport == "local" {
            return None;
        }
        let settings = self.config.as_ref()?.resolve(&Query::from_entry(entry), &self.local_user).ok()?;
        let files: Vec<PathBuf> = match &entry.known_hosts {
            Some(file) => vec![file.clone()],
            None => settings.user_known_hosts_files.iter().chain(&settings.global_known_hosts_files).cloned().collect(),
        };
        let place = read.iter().position(|(known, _)| *known == files).unwrap_or_else(|| {
            let known = KnownHosts::read(files.iter().map(PathBuf::as_path));
            read.push((files, known));
            read.len() - 1
        });
        let names = match settings.host_key_alias {
            Some(alias) => vec![named(&alias, 22)],
            None => vec![named(&settings.hostname, settings.port), named(&settings.hostname, 22)],
        };
        let recorded = |name: &String| {
            let mut entries = read[place].1.entries.iter();
            entries.find(|entry| entry.marker == Marker::None && entry.hosts.contain(name))
        };
        let key = &names.iter().find_map(recorded)?.key;
        let digest = key.fingerprint(HashAlg::Sha256);
        let pairs: Vec<String> = digest.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(pairs.join(":"))
    }
}
