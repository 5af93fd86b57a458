//! Ways to prove who somebody is, by Salt's names for them (`eauth`).
//!
//! To add one: a sibling file with its [`Backend`], and a line in [`ALL`]. Its settings are the keys of its block of
//! `external_auth` that begin with `^`, and those of the configuration that are named after it.

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

/// By a password. (A client certificate proves it by itself: `cert` is in [`super::certificate`].)
pub const ALL: &[(&str, Make)] = &[
    ("auto", auto::make),
    ("file", file::make),
    ("ldap", ldap::make),
    ("pam", pam::make),
    ("sharedsecret", sharedsecret::make),
];

/// Makes one from its settings; what is wrong with them is said at the start, not at a login.
pub type Make = fn(&Setup<'_>) -> Result<Arc<dyn Backend>, String>;

#[async_trait]
pub trait Backend: Send + Sync {
    fn name(&self) -> &'static str;

    /// Who they are if it is their password, `None` if not; an error if it can't be found out now.
    async fn verify(&self, user: &str, password: &Secret<String>) -> Result<Option<Person>, String>;

    /// Whether what a token was once got by still stands: false if the user is gone or has another password.
    fn stands(&self, _user: &str, _stamp: &[u8]) -> bool {
        true
    }
}

/// What a backend knows of somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    pub groups: Vec<String>,
    /// What [`Backend::stands`] is asked with later.
    pub stamp: Vec<u8>,
}

/// What backends are made from.
pub struct Setup<'a> {
    /// The whole configuration.
    pub config: &'a Map,
    /// The backend's block of `external_auth`.
    pub block: &'a Map,
    /// Where relative paths begin.
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

    /// A value of the configuration; those of a block may be written as Salt does, `auth.ldap.server`, or below the block.
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
