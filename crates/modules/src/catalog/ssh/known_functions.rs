//! The functions for known hosts.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::known::{self, KnownHostEntry};
use super::trust::{self, HostKeyStatus, Trust};
use crate::Result;
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::System;

fn fault(text: &str) -> Value {
    Value::Map(Map::from_iter([("status".into(), "error".into()), ("error".into(), text.into())]))
}

fn listed(entries: &[KnownHostEntry]) -> Value {
    if entries.is_empty() { Value::Null } else { Value::List(entries.iter().map(KnownHostEntry::info).collect()) }
}

/// The known keys of a host; null if there are none.
///
/// ```text
/// rocksalt '*' ssh.get_known_host_entries alice github.com
/// ```
#[function("ssh.get_known_host_entries", reads)]
pub struct GetKnownHostEntries {
    /// Whose file; else the system's.
    #[required]
    user: Option<String>,
    /// The host's name.
    hostname: String,
    /// The file, if it is another one.
    config: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

impl Function for GetKnownHostEntries {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let trust = Trust {
            config: self.config.as_deref(),
            port: self.port,
            kind: self.fingerprint_hash_type.as_deref(),
            ..named(self.user.as_deref(), &self.hostname)
        };
        Ok(trust.stored(machine)?.map_or_else(|text| fault(&text), |entries| listed(&entries)))
    }
}

/// The keys that a host sends; null if it sends none. Verify their fingerprints before you trust them.
///
/// ```text
/// rocksalt '*' ssh.recv_known_host_entries github.com enc=ed25519
/// ```
#[function("ssh.recv_known_host_entries", reads)]
pub struct RecvKnownHostEntries {
    /// The host's name.
    hostname: String,
    /// The type of the key: `rsa`, `ed25519` …
    enc: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
    /// Show the name as a hash.
    #[default(true)]
    hash_known_hosts: Flag,
    /// Seconds to wait.
    #[default(5)]
    timeout: u32,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

impl Function for RecvKnownHostEntries {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let trust = Trust {
            enc: self.enc.as_deref(),
            port: self.port,
            timeout: self.timeout,
            kind: self.fingerprint_hash_type.as_deref(),
            ..named(None, &self.hostname)
        };
        let mut entries = trust.scan(machine)?;
        for entry in &mut entries {
            let name = known::host_name(&self.hostname, self.port);
            entry.hostname = if self.hash_known_hosts.0 { known::hashed(&name, &trust::salt(machine)?) } else { name };
        }
        Ok(listed(&entries))
    }
}

/// What `ssh.set_known_host` would do: `add`, `update`, or `exists`.
///
/// ```text
/// rocksalt '*' ssh.check_known_host alice github.com key=AAAA
/// ```
#[function("ssh.check_known_host", reads)]
pub struct CheckKnownHost {
    /// Whose file; else the system's.
    user: Option<String>,
    /// The host's name.
    hostname: Option<String>,
    /// Its key.
    key: Option<String>,
    /// Or the fingerprint of it.
    fingerprint: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

impl Function for CheckKnownHost {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let Some(host) = &self.hostname else { return Ok(fault("hostname argument required")) };
        let trust = Trust {
            key: self.key.as_deref(),
            fingerprint: self.fingerprint.as_deref(),
            config: self.config.as_deref(),
            port: self.port,
            kind: self.fingerprint_hash_type.as_deref(),
            ..named(self.user.as_deref(), host)
        };
        Ok(trust.stored(machine)?.map_or_else(|text| fault(&text), |stored| trust.check(&stored).into()))
    }
}

/// Adds a host's key: the given one, or the one that it sends if its fingerprint is right.
///
/// ```text
/// rocksalt '*' ssh.set_known_host alice github.com enc=ssh-ed25519 key=AAAA hash_known_hosts=False
/// ```
#[function("ssh.set_known_host", changes)]
pub struct SetKnownHost {
    /// Whose file; else the system's.
    user: Option<String>,
    /// The host's name.
    hostname: Option<String>,
    /// The fingerprint of its key.
    fingerprint: Option<String>,
    /// Or its key.
    key: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
    /// The type of its key.
    enc: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
    /// Write the name as a hash.
    #[default(true)]
    hash_known_hosts: Flag,
    /// Seconds to wait for the host.
    #[default(5)]
    timeout: u32,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

impl Function for SetKnownHost {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let Some(host) = &self.hostname else { return Ok(fault("hostname argument required")) };
        if self.key.is_some() && self.enc.is_none() {
            return Ok(fault("Required argument \"enc\" if using \"key\" argument."));
        }
        let trust = Trust {
            user: self.user.as_deref(),
            host,
            fingerprint: self.fingerprint.as_deref(),
            key: self.key.as_deref(),
            port: self.port,
            enc: self.enc.as_deref(),
            config: self.config.as_deref(),
            hash_known_hosts: self.hash_known_hosts.0,
            timeout: self.timeout,
            kind: self.fingerprint_hash_type.as_deref(),
        };
        Ok(match trust.look(machine)? {
            HostKeyStatus::Fault(text) => fault(&text),
            HostKeyStatus::Exists(keys) => Value::Map(Map::from_iter([
                ("status".into(), "exists".into()),
                ("keys".into(), Value::List(keys.into_iter().map(Value::from).collect())),
            ])),
            HostKeyStatus::Update(update) => {
                trust.save(machine, &update)?;
                let mut answer = Map::from_iter([("status".into(), "updated".into())]);
                answer.extend(update.changes());
                Value::Map(answer)
            }
        })
    }
}

/// Removes a host's keys.
///
/// ```text
/// rocksalt '*' ssh.rm_known_host alice github.com
/// ```
#[function("ssh.rm_known_host", changes)]
pub struct RmKnownHost {
    /// Whose file; else the system's.
    user: Option<String>,
    /// The host's name.
    hostname: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
    /// The port, if it isn't 22.
    port: Option<u16>,
}

impl Function for RmKnownHost {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let Some(host) = &self.hostname else { return Ok(fault("hostname argument required")) };
        let (user, config) = (self.user.as_deref(), self.config.as_deref());
        let host = known::host_name(host, self.port);
        Ok(match forget(machine, user, config, &host)? {
            Ok(comment) => {
                Value::Map(Map::from_iter([("status".into(), "removed".into()), ("comment".into(), comment.into())]))
            }
            Err(text) => fault(&text),
        })
    }
}

/// Hashes all names in a file of known hosts.
///
/// ```text
/// rocksalt '*' ssh.hash_known_hosts alice
/// ```
#[function("ssh.hash_known_hosts", changes)]
pub struct HashKnownHosts {
    /// Whose file; else the system's.
    user: Option<String>,
    /// The file, if it is another one.
    config: Option<String>,
}

impl Function for HashKnownHosts {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let user = self.user.as_deref();
        let place = match trust::place(machine, user, self.config.as_deref()) {
            Ok(place) => place,
            Err(text) => return Ok(fault(&text)),
        };
        let Some(text) = place.read(machine)? else {
            return Ok(fault(&format!("Known hosts file {} does not exist", place.path)));
        };
        let new = known::all_hashed(&text, &mut || trust::salt(machine))?;
        place.write(machine, &new, trust::mode(user))?;
        let comment = format!("{} updated.", place.path);
        Ok(Value::Map(Map::from_iter([("status".into(), "updated".into()), ("comment".into(), comment.into())])))
    }
}

/// Removes a host's entries. The result has the form of `ssh-keygen -R`.
pub fn forget(
    machine: &dyn System,
    user: Option<&str>,
    config: Option<&str>,
    host: &str,
) -> Result<Result<String, String>> {
    let place = match trust::place(machine, user, config) {
        Ok(place) => place,
        Err(text) => return Ok(Err(text)),
    };
    let Some(text) = place.read(machine)? else {
        return Ok(Err(format!("Known hosts file {} does not exist", place.path)));
    };
    let found = known::find(&text, host, None)?;
    if found.is_empty() {
        return Ok(Ok(format!("Host {host} not found in {}", place.path)));
    }
    place.write(machine, &known::without(&text, host, None)?, trust::mode(user))?;
    let lines = found.iter().map(|(index, _)| format!("# Host {host} found: line {}\n", index + 1));
    Ok(Ok(lines.chain([format!("{} updated.", place.path)]).collect()))
}

fn named<'a>(user: Option<&'a str>, host: &'a str) -> Trust<'a> {
    Trust {
        user,
        host,
        fingerprint: None,
        key: None,
        port: None,
        enc: None,
        config: None,
        hash_known_hosts: false,
        timeout: 5,
        kind: None,
    }
}
