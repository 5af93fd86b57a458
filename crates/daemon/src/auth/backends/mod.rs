//! Authentication backends, by Salt's names (`eauth`).
//!
//! To add one: a sibling file with its [`Backend`], and a line in [`ALL`]. Its settings are the keys with `^` in its block
//! of `external_auth`, and the configuration's keys that are named after it.

mod auto;
mod file;
mod htpasswd;
mod ldap;
mod pam;
mod sharedsecret;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::{Map, Secret, Value};

use super::passwords::Passwords;

/// Backends that check a password. (`cert` needs none: see [`super::certificate`].)
pub const ALL: &[(&str, OpenBackend)] = &[
    ("auto", auto::open),
    ("file", file::open),
    ("ldap", ldap::open),
    ("pam", pam::open),
    ("sharedsecret", sharedsecret::open),
];

/// Opens a backend with its settings. Invalid settings are reported at the start, not at a login.
pub type OpenBackend = fn(&Setup<'_>) -> Result<Arc<dyn Backend>, String>;

#[async_trait]
pub trait Backend: Send + Sync {
    fn name(&self) -> &'static str;

    /// The user if the password is right, `None` if not; an error if it can't be checked.
    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<VerifiedUser>, String>;

    /// Whether an earlier login is still valid: false if the user was removed or has another password.
    fn is_still_valid(&self, _user: &str, _stamp: &[u8]) -> bool {
        true
    }
}

/// A user whose password was right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedUser {
    pub groups: Vec<String>,
    /// Passed to [`Backend::is_still_valid`] later.
    pub stamp: Vec<u8>,
}

/// The settings for opening a backend.
pub struct Setup<'a> {
    /// The whole configuration.
    pub config: &'a Map,
    /// The backend's block of `external_auth`.
    pub block: &'a Map,
    /// Base of relative paths.
    pub directory: &'a Path,
    /// Our own users file.
    pub users: &'a Path,
    pub passwords: &'a Passwords,
}

impl Setup<'_> {
    /// An option of the block: `^filename` is `option("filename")`.
    pub fn option(&self, name: &str) -> Option<String> {
        let value = self.block.get(&format!("^{name}"))?;
        (!value.is_null()).then(|| value.to_string())
    }

    /// A value of the configuration, written as `auth.ldap.server` or as `server` in the block `auth.ldap`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let below = || {
            let (block, name) = key.rsplit_once('.')?;
            self.config.get(block)?.as_map()?.get(name)
        };
        self.config.get(key).or_else(below).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(ToString::to_string)
    }

    pub fn flag(&self, key: &str) -> Result<bool, String> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("`{key}` must be true or false, not {}", other.kind())),
        }
    }
}
