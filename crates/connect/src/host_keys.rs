//! [`HostKeys`]: the recorded key of a target, without asking it.

use std::path::PathBuf;

use rocksalt_core::roster::Entry;
use russh::keys::HashAlg;

use crate::known_hosts::{KnownHosts, Marker, named};
use crate::ssh_config::{self, Config, Local, Query};
use crate::transport::LocalUser;

/// Reads what ssh reads, as it stands when this is made.
pub struct HostKeys {
    local: Local,
    config: Option<Config>,
}

impl HostKeys {
    pub fn new(local_user: &LocalUser) -> HostKeys {
        let local = Local {
            user: local_user.name.clone(),
            home: local_user.home.clone(),
            hostname: local_user.hostname.clone(),
            uid: local_user.uid,
            environment: local_user.environment.clone(),
        };
        HostKeys { local, config: ssh_config::load(&local_user.home).ok() }
    }

    /// The SHA-256 of each target's key as pairs of hexadecimal digits with colons between; `None` where none is recorded.
    pub fn fingerprints(&self, entries: &[&Entry]) -> Vec<Option<String>> {
        // Most targets share their files.
        let mut read: Vec<(Vec<PathBuf>, KnownHosts)> = Vec::new();
        entries.iter().map(|entry| self.fingerprint(entry, &mut read)).collect()
    }

    fn fingerprint(&self, entry: &Entry, read: &mut Vec<(Vec<PathBuf>, KnownHosts)>) -> Option<String> {
        if entry.transport == "local" {
            return None;
        }
        let settings = self.config.as_ref()?.resolve(&Query::of(entry), &self.local).ok()?;
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
