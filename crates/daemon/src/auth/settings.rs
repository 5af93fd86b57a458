//! [`Settings`] of authentication.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rocksalt_core::pattern::glob;
use rocksalt_core::target::IpNetwork;
use rocksalt_core::{Map, Value};

use super::backends::{self, Backend, Setup};
use super::passwords::Passwords;
use crate::access::external_auth;

/// Read at each reload.
pub struct Settings {
    /// The backends of `external_auth`, each open or with its error.
    pub(super) backends: BTreeMap<String, Result<Arc<dyn Backend>, String>>,
    /// Client certificates are accepted.
    pub(super) certificates: bool,
    pub(super) token_expire: Duration,
    pub(super) token_idle: Duration,
    pub(super) expire_override: ExpireOverride,
    /// A token is valid only at the address that got it.
    pub(super) bind_address: bool,
    /// How long a verified password is cached.
    pub(super) remember: Duration,
    /// Salt's `api_acl`: the addresses from which users may log in.
    pub(super) api_acl: Option<BTreeMap<String, Vec<String>>>,
    /// Salt's `authorized_ips`.
    pub(super) authorized: Option<Vec<String>>,
}

/// Who may choose the lifetime of their tokens.
pub(super) enum ExpireOverride {
    Nobody,
    Everybody,
    /// By backend.
    Listed(BTreeMap<String, Vec<String>>),
}

impl ExpireOverride {
    pub fn allows(&self, eauth: &str, user: &str) -> bool {
        match self {
            ExpireOverride::Nobody => false,
            ExpireOverride::Everybody => true,
            ExpireOverride::Listed(users) => {
                users.get(eauth).is_some_and(|users| users.iter().any(|name| name == user))
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            backends: BTreeMap::new(),
            certificates: false,
            token_expire: Duration::from_secs(43_200),
            token_idle: Duration::from_secs(36_000),
            expire_override: ExpireOverride::Nobody,
            bind_address: false,
            remember: Duration::from_secs(60),
            api_acl: None,
            authorized: None,
        }
    }
}

impl Settings {
    /// Reads the whole configuration. Relative paths are below `directory`; `users` is our own users file.
    pub fn read(config: &Map, directory: &Path, users: &Path) -> Result<Settings, String> {
        let passwords = Passwords::default();
        let mut settings = Settings::default();
        let none = Map::new();
        for (name, block) in external_auth(config)?.iter() {
            let name = name.to_string();
            if name == "cert" {
                settings.certificates = true;
                continue;
            }
            let block = block.as_map().unwrap_or(&none);
            let setup = Setup { config, block, directory, users, passwords: &passwords };
            let made = match backends::ALL.iter().find(|(known, _)| *known == name) {
                Some((_, make)) => make(&setup),
                None => Err(format!("unknown backend; known are {}, cert", names().join(", "))),
            };
            settings.backends.insert(name, made);
        }
        let rest_cherrypy = config.get("rest_cherrypy").and_then(Value::as_map).unwrap_or(&none);
        let either = |key: &str| config.get(key).or_else(|| rest_cherrypy.get(key)).filter(|value| !value.is_null());
        if let Some(seconds) = seconds(config, "token_expire")? {
            settings.token_expire = seconds;
        }
        if let Some(seconds) = seconds(config, "token_idle")? {
            settings.token_idle = seconds;
        }
        if let Some(seconds) = seconds(config, "auth_remember")? {
            settings.remember = seconds;
        }
        settings.expire_override = match config.get("token_expire_user_override") {
            None | Some(Value::Null | Value::Bool(false)) => ExpireOverride::Nobody,
            Some(Value::Bool(true)) => ExpireOverride::Everybody,
            Some(Value::Map(map)) => ExpireOverride::Listed(lists(map)),
            Some(other) => {
                return Err(format!("`token_expire_user_override` must be true, false or a map, not {}", other.kind()));
            }
        };
        settings.bind_address = match config.get("token_bind_address") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => return Err(format!("`token_bind_address` must be true or false, not {}", other.kind())),
        };
        let users = either("api_acl").and_then(|acl| acl.walk("users", ":")).and_then(Value::as_map);
        settings.api_acl = users.filter(|users| !users.is_empty()).map(lists);
        settings.authorized = either("authorized_ips").map(texts).filter(|list| !list.is_empty());
        Ok(settings)
    }

    /// Backends that don't work, for the log at the start: the daemon runs, but nobody can log in with them.
    pub fn warnings(&self) -> Vec<String> {
        let faults = self.backends.iter().filter_map(|(name, made)| made.as_ref().err().map(|why| (name, why)));
        faults.map(|(name, why)| format!("nobody can log in with eauth '{name}': {why}")).collect()
    }

    /// Whether `api_acl` allows a user to log in from an address. The unix socket is always allowed.
    pub(super) fn allows_address(&self, user: &str, from: Option<IpAddr>) -> bool {
        let (Some(acl), Some(from)) = (&self.api_acl, from) else { return true };
        let list = acl.get(user).or_else(|| acl.get("*"));
        list.is_some_and(|list| list.iter().any(|pattern| matches_address(pattern, from)))
    }

    pub(super) fn authorized(&self, from: Option<IpAddr>) -> bool {
        match (&self.authorized, from) {
            (Some(list), Some(from)) => list.iter().any(|pattern| matches_address(pattern, from)),
            _ => true,
        }
    }
}

/// The names of all backends with passwords.
pub fn names() -> Vec<&'static str> {
    backends::ALL.iter().map(|(name, _)| *name).collect()
}

/// A pattern is an address, a glob or a network.
fn matches_address(pattern: &str, from: IpAddr) -> bool {
    let from = from.to_canonical();
    glob::matches(pattern, &from.to_string()) || IpNetwork::parse(pattern).is_ok_and(|network| network.contains(from))
}

fn seconds(config: &Map, key: &str) -> Result<Option<Duration>, String> {
    /// Ten years.
    const MAX_SECONDS: f64 = 315_360_000.0;
    let number = match config.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Int(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(other) => return Err(format!("`{key}` must be a number of seconds, not {}", other.kind())),
    };
    match (0.0..=MAX_SECONDS).contains(&number) {
        true => Ok(Some(Duration::from_secs_f64(number))),
        false => Err(format!("`{key}` must be a number of seconds from 0 to {MAX_SECONDS}, not {number}")),
    }
}

fn lists(map: &Map) -> BTreeMap<String, Vec<String>> {
    map.iter().map(|(key, value)| (key.to_string(), texts(value))).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        Value::Null => Vec::new(),
        one => vec![one.to_string()],
    }
}
