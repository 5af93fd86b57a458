//! The functions for authorized keys.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::authorized::{AuthorizedKeys, KeyStatus, from_source, shown};
use super::key::{self, SshKey};
use crate::catalog::Function;
use crate::machine::{System, accounts};
use crate::{Error, Result};

/// The authorized keys of a user, or of several, each below its name.
///
/// ```text
/// rocksalt '*' ssh.auth_keys root
/// rocksalt '*' ssh.auth_keys user='[root, alice]'
/// ```
#[function("ssh.auth_keys", reads)]
pub struct AuthKeys {
    /// A name or a list of names; else all users.
    user: Value,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// The checksum of fingerprints: `sha256`, `md5` …
    fingerprint_hash_type: Option<String>,
}

impl Function for AuthKeys {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let kind = self.fingerprint_hash_type.as_deref();
        let of = |user: &str| {
            let found = AuthorizedKeys::read(machine, user, &self.config).map(|found| found.keys()).unwrap_or_default();
            shown(&found, kind)
        };
        if let Value::String(user) = &self.user {
            return of(user);
        }
        let all = || accounts::users(machine).into_iter().map(|user| user.name).collect();
        let users: Vec<String> = match self.user.as_list() {
            Some(names) if !names.is_empty() => names.iter().map(ToString::to_string).collect(),
            _ => all(),
        };
        let mut keys = Map::new();
        for user in users {
            let found = of(&user)?;
            if !found.is_empty() {
                keys.insert(user, found);
            }
        }
        Ok(keys)
    }
}

/// What would be done with a key: `add`, `update`, or `exists`.
///
/// ```text
/// rocksalt '*' ssh.check_key alice AAAAC3NzaC1lZDI1NTE5 ssh-ed25519 alice@laptop '[]'
/// ```
#[function("ssh.check_key", reads)]
pub struct CheckKey {
    /// The user's name.
    user: String,
    /// The key without its type.
    key: String,
    /// Its type.
    enc: String,
    /// What stands behind it.
    comment: String,
    /// What stands before it.
    #[required]
    options: Vec<String>,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// Taken and ignored, as in Salt.
    #[expect(dead_code, reason = "an argument without a meaning")]
    cache_keys: Value,
    /// Accepted and ignored: it changes nothing about the answer.
    #[expect(dead_code, reason = "an argument without a meaning")]
    fingerprint_hash_type: Value,
}

impl Function for CheckKey {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let wanted = SshKey::given(&self.key, &key::refined(&self.enc)?, &self.comment, &self.options);
        let known = AuthorizedKeys::read(machine, &self.user, &self.config)?;
        Ok(known.status(&wanted).name())
    }
}

/// What would be done with the keys of a file.
///
/// ```text
/// rocksalt '*' ssh.check_key_file alice salt://keys/alice.pub
/// ```
#[function("ssh.check_key_file", reads)]
pub struct CheckKeyFile {
    /// The user's name.
    user: String,
    /// Where the file comes from.
    source: String,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// The environment of the source.
    saltenv: Option<String>,
}

impl Function for CheckKeyFile {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let keys = from_source(machine, &self.source, self.saltenv.as_deref())?.unwrap_or_default();
        let known = AuthorizedKeys::read(machine, &self.user, &self.config)?;
        Ok(keys.iter().map(|key| (key.key.as_str().into(), known.status(key).name().into())).collect())
    }
}

/// Adds a key to those that a user may log in with.
///
/// ```text
/// rocksalt '*' ssh.set_auth_key alice AAAAC3NzaC1lZDI1NTE5 enc=ssh-ed25519 comment=alice@laptop
/// ```
#[function("ssh.set_auth_key", changes)]
pub struct SetAuthKey {
    /// The user's name.
    user: String,
    /// The key without its type.
    key: String,
    /// Its type.
    #[default("ssh-rsa")]
    enc: String,
    /// What stands behind it.
    #[default]
    comment: String,
    /// What stands before it.
    options: Vec<String>,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
}

impl Function for SetAuthKey {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        if self.key.split_whitespace().count() > 1 {
            return Ok("invalid");
        }
        let wanted = SshKey::given(&self.key, &key::refined(&self.enc)?, &self.comment, &self.options);
        if !wanted.is_valid() {
            return Ok("Invalid public key");
        }
        set(machine, &self.user, &self.config, &[wanted])
    }
}

/// Adds the keys of a file to those that a user may log in with.
///
/// ```text
/// rocksalt '*' ssh.set_auth_key_from_file alice salt://keys/alice.pub
/// ```
#[function("ssh.set_auth_key_from_file", changes)]
pub struct SetAuthKeyFromFile {
    /// The user's name.
    user: String,
    /// Where the file comes from.
    source: String,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// The environment of the source.
    saltenv: Option<String>,
}

impl Function for SetAuthKeyFromFile {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let keys = needed(from_source(machine, &self.source, self.saltenv.as_deref())?)?;
        set(machine, &self.user, &self.config, &keys)
    }
}

/// Removes a key from those that a user may log in with.
///
/// ```text
/// rocksalt '*' ssh.rm_auth_key alice AAAAC3NzaC1lZDI1NTE5
/// ```
#[function("ssh.rm_auth_key", changes)]
pub struct RmAuthKey {
    /// The user's name.
    user: String,
    /// The key without its type.
    key: String,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
}

impl Function for RmAuthKey {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        remove(machine, &self.user, &self.config, &[self.key])
    }
}

/// Removes the keys of a file from those that a user may log in with.
///
/// ```text
/// rocksalt '*' ssh.rm_auth_key_from_file alice salt://keys/alice.pub
/// ```
#[function("ssh.rm_auth_key_from_file", changes)]
pub struct RmAuthKeyFromFile {
    /// The user's name.
    user: String,
    /// Where the file comes from.
    source: String,
    /// The file; `%h` is the home, `%u` the name.
    #[default(".ssh/authorized_keys")]
    config: String,
    /// The environment of the source.
    saltenv: Option<String>,
}

impl Function for RmAuthKeyFromFile {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let keys = needed(from_source(machine, &self.source, self.saltenv.as_deref())?)?;
        let keys: Vec<String> = keys.into_iter().map(|key| key.key).collect();
        remove(machine, &self.user, &self.config, &keys)
    }
}

fn needed(keys: Option<Vec<SshKey>>) -> Result<Vec<SshKey>> {
    keys.ok_or_else(|| Error::failed("Failed to pull key file from salt file server"))
}

fn set(machine: &dyn System, user: &str, config: &str, keys: &[SshKey]) -> Result<&'static str> {
    let Ok(mut known) = AuthorizedKeys::read(machine, user, config) else { return Ok("fail") };
    if known.homeless(machine) || keys.is_empty() {
        return Ok("fail");
    }
    let done: Vec<KeyStatus> = keys.iter().map(|key| known.set(key)).collect();
    if done.iter().any(|status| *status != KeyStatus::Exists) {
        known.write(machine)?;
    }
    Ok(match () {
        () if done.contains(&KeyStatus::Update) => "replace",
        () if done.contains(&KeyStatus::Add) => "new",
        () => "no change",
    })
}

fn remove(machine: &dyn System, user: &str, config: &str, keys: &[String]) -> Result<&'static str> {
    let Ok(mut known) = AuthorizedKeys::read(machine, user, config) else { return Ok("Key not present") };
    let gone = keys.iter().filter(|key| known.remove(key)).count();
    if gone == 0 {
        return Ok("Key not present");
    }
    known.write(machine)?;
    Ok("Key removed")
}
