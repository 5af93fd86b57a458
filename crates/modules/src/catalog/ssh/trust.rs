//! [`Trust`]: the requested key of a host, and the changes that this needs.

use std::path::Path;

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::known::{self, KnownHostEntry};
use super::place::UserFile;
use crate::catalog::user::tool;
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub struct Trust<'a> {
    pub user: Option<&'a str>,
    pub host: &'a str,
    pub fingerprint: Option<&'a str>,
    pub key: Option<&'a str>,
    pub port: Option<u16>,
    pub enc: Option<&'a str>,
    pub config: Option<&'a str>,
    pub hash_known_hosts: bool,
    pub timeout: u32,
    pub kind: Option<&'a str>,
}

/// The result of comparing.
pub enum HostKeyStatus {
    /// These keys are known already.
    Exists(Vec<String>),
    /// The change is impossible.
    Fault(String),
    Update(TrustUpdate),
}

#[derive(Serialize, Deserialize)]
pub struct TrustUpdate {
    /// The existing entries; null if there are none.
    pub old: Value,
    pub new: Value,
    entries: Vec<KnownHostEntry>,
}

impl TrustUpdate {
    pub fn changes(&self) -> Map {
        Map::from_iter([("old".into(), self.old.clone()), ("new".into(), self.new.clone())])
    }

    pub fn first(&self) -> Option<&KnownHostEntry> {
        self.entries.first()
    }
}

/// The file of known hosts; Salt's text if it can't be determined.
pub fn place(machine: &dyn Probe, user: Option<&str>, config: Option<&str>) -> Result<UserFile, String> {
    match (user, config) {
        (Some(user), config) => {
            let place = UserFile::of(machine, user, &config.unwrap_or(".ssh/known_hosts").replace('%', "%%"));
            place.map_err(|_| format!("User {user} does not exist"))
        }
        (None, Some(path)) if !path.starts_with('/') => Err("Cannot determine absolute path to file.".into()),
        (None, path) => Ok(UserFile::of_system(path.unwrap_or("/etc/ssh/ssh_known_hosts"))),
    }
}

impl Trust<'_> {
    /// The host's entries in the file.
    pub fn stored(&self, machine: &dyn Probe) -> Result<Result<Vec<KnownHostEntry>, String>> {
        let place = match place(machine, self.user, self.config) {
            Ok(place) => place,
            Err(text) => return Ok(Err(text)),
        };
        let text = place.read(machine)?.unwrap_or_default();
        let found = known::find(&text, &known::host_name(self.host, self.port), self.kind)?;
        Ok(Ok(found.into_iter().map(|(_, entry)| entry).collect()))
    }

    /// `add`, `update` or `exists`, without contacting the host.
    pub fn check(&self, stored: &[KnownHostEntry]) -> &'static str {
        let has = |known: fn(&KnownHostEntry) -> &str, wanted: &str| stored.iter().any(|entry| known(entry) == wanted);
        let exists = match (self.key, self.fingerprint) {
            _ if stored.is_empty() => return "add",
            (Some(key), _) => has(|entry| &entry.key, key),
            (None, Some(fingerprint)) => has(|entry| &entry.fingerprint, fingerprint),
            (None, None) => true,
        };
        if exists { "exists" } else { "update" }
    }

    pub fn look(&self, machine: &dyn Probe) -> Result<HostKeyStatus> {
        known::check_host(self.host)?;
        if self.port.is_some_and(|port| port != 22) && self.hash_known_hosts {
            let text = "argument port can not be used in conjunction with argument hash_known_hosts";
            return Ok(HostKeyStatus::Fault(text.into()));
        }
        let stored = match self.stored(machine)? {
            Ok(stored) => stored,
            Err(text) => return Ok(HostKeyStatus::Fault(text)),
        };
        let keys = || -> Vec<String> {
            let of_kind = stored.iter().filter(|entry| self.enc.is_none_or(|enc| entry.enc == enc));
            of_kind.map(|entry| entry.key.clone()).collect()
        };
        let unproved = self.key.is_none() && self.fingerprint.is_none();
        let of_type = self.key.is_none_or(|key| keys().iter().any(|known| known == key));
        if self.check(&stored) == "exists" && of_type && !unproved {
            return Ok(HostKeyStatus::Exists(keys()));
        }
        let (entries, new) = match self.key {
            Some(key) => {
                let enc = self.enc.unwrap_or_default();
                let entry = KnownHostEntry::parse(&format!("{} {enc} {key}", self.host), self.kind)?;
                let Some(entry) = entry.filter(|_| !key.contains(char::is_whitespace)) else {
                    return Ok(HostKeyStatus::Fault("the key is no key of a host".into()));
                };
                // As in Salt, the entry for a given key has no fingerprint.
                let mut shown = self.told(&entry);
                shown.remove("fingerprint");
                (vec![entry], Value::List(vec![Value::Map(shown)]))
            }
            None => {
                let scanned = self.scan(machine)?;
                if scanned.is_empty() {
                    return Ok(HostKeyStatus::Fault("Unable to receive remote host keys".into()));
                }
                if self.fingerprint.is_some_and(|wanted| !scanned.iter().any(|entry| entry.fingerprint == wanted)) {
                    let text =
                        "Remote host public keys found but none of their fingerprints match the one you have provided";
                    return Ok(HostKeyStatus::Fault(text.into()));
                }
                let same = scanned.iter().all(|entry| keys().contains(&entry.key))
                    && keys().iter().all(|key| scanned.iter().any(|entry| entry.key == *key));
                if unproved && same && !stored.is_empty() {
                    return Ok(HostKeyStatus::Exists(keys()));
                }
                let shown = scanned.iter().map(|entry| Value::Map(self.told(entry))).collect();
                (scanned, Value::List(shown))
            }
        };
        let old = match stored.is_empty() {
            true => Value::Null,
            false => Value::List(stored.iter().map(KnownHostEntry::info).collect()),
        };
        Ok(HostKeyStatus::Update(TrustUpdate { old, new, entries }))
    }

    /// A new entry in the form of changes.
    fn told(&self, entry: &KnownHostEntry) -> Map {
        let mut told = entry.info().as_map().cloned().unwrap_or_default();
        if let Some(port) = self.port.filter(|port| *port != 22) {
            told.insert("port", i64::from(port));
        }
        told
    }

    /// Requests the host's keys. They are not authenticated.
    pub fn scan(&self, machine: &dyn Probe) -> Result<Vec<KnownHostEntry>> {
        known::check_host(self.host)?;
        let (port, timeout) = (self.port.map(|port| port.to_string()), self.timeout.to_string());
        let mut argv = vec!["ssh-keyscan", "-T", &timeout];
        if let Some(port) = &port {
            argv.extend(["-p", port]);
        }
        if let Some(enc) = self.enc {
            argv.extend(["-t", enc]);
        }
        argv.push(self.host);
        for _ in 0..5 {
            let output = tool::ask(machine, &argv).ok_or_else(|| {
                Error::failed("Command 'ssh-keyscan' cannot be found").hint("install OpenSSH's client, or give the key")
            })??;
            let mut entries = Vec::new();
            for line in output.text().lines() {
                entries.extend(KnownHostEntry::parse(line, self.kind)?);
            }
            // The file contains the port, but changes only name the host.
            entries.iter_mut().for_each(|entry| entry.hostname = self.host.to_owned());
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
        Ok(Vec::new())
    }

    pub fn save(&self, machine: &dyn System, update: &TrustUpdate) -> Result<()> {
        let place = place(machine, self.user, self.config).map_err(Error::failed)?;
        let name = known::host_name(self.host, self.port);
        let mut text = known::without(&place.read(machine)?.unwrap_or_default(), &name, self.enc)?;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for entry in &update.entries {
            let name = match self.hash_known_hosts {
                true => known::hashed(&name, &salt(machine)?),
                false => name.clone(),
            };
            text.push_str(&format!("{name} {} {}\n", entry.enc, entry.key));
        }
        place.write(machine, &text, mode(self.user))
    }
}

/// The mode of a new file: one for all users must be readable by them.
pub fn mode(user: Option<&str>) -> u32 {
    if user.is_some() { 0o600 } else { 0o644 }
}

pub fn salt(machine: &dyn Probe) -> Result<Vec<u8>> {
    let path = Path::new("/dev/urandom");
    let bytes = machine.read_at(path, 0, 20).map_err(|error| Error::io("read", path, &error))?;
    if bytes.len() < 20 { Err(Error::failed("the system gives no randomness")) } else { Ok(bytes) }
}
