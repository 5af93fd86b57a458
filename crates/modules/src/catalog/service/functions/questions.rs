//! Functions that query one service.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};

use super::super::{provider, status};
use crate::Result;
use crate::catalog::Function;
use crate::machine::System;
use crate::text::glob;

/// A service.
#[arguments]
pub struct ServiceName {
    /// The name.
    name: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl ServiceName {
    fn available(self, machine: &dyn System, wanted: bool) -> Result<bool> {
        Ok(provider(machine, Some(&self.name))?.available(machine, &self.name)? == wanted)
    }

    fn enabled(self, machine: &dyn System, wanted: bool) -> Result<bool> {
        Ok(provider(machine, Some(&self.name))?.enabled(machine, &self.name)? == wanted)
    }
}

/// Whether there is a service of that name.
///
/// ```text
/// rocksalt '*' service.available sshd
/// ```
#[function("service.available", reads, call = ServiceName::available(true) -> bool)]
pub struct Available(ServiceName);

/// Whether a service is disabled: it doesn't start at boot.
///
/// ```text
/// rocksalt '*' service.disabled sshd
/// ```
#[function("service.disabled", reads, call = ServiceName::enabled(false) -> bool)]
pub struct Disabled(ServiceName);

/// Whether a service is enabled: it starts at boot.
///
/// ```text
/// rocksalt '*' service.enabled sshd
/// ```
#[function("service.enabled", reads, call = ServiceName::enabled(true) -> bool)]
pub struct Enabled(ServiceName);

/// Whether there is no service of that name.
///
/// ```text
/// rocksalt '*' service.missing sshd
/// ```
#[function("service.missing", reads, call = ServiceName::available(false) -> bool)]
pub struct Missing(ServiceName);

/// Whether systemd is there but does not run, as in a chroot: services can be enabled, but not started.
///
/// ```text
/// rocksalt '*' service.offline
/// ```
#[function("service.offline", reads)]
pub struct Offline {}

impl Function for Offline {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(provider(machine, None)?.offline())
    }
}

/// Whether a service runs; for a pattern, a map of all that match.
///
/// ```text
/// rocksalt '*' service.status sshd
/// rocksalt '*' service.status 'ssh*'
/// ```
#[function("service.status", reads)]
pub struct Status {
    /// The name, or a pattern.
    name: String,
    /// Part of the command line of its process, where the service itself can't tell; systemd always can.
    sig: Option<String>,
}

impl Function for Status {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let sig = self.sig.as_deref();
        if !glob::is_pattern(&self.name) {
            return Ok(status(provider(machine, Some(&self.name))?, machine, &self.name, sig)?.into());
        }
        let provider = provider(machine, None)?;
        let mut found = Map::new();
        for name in provider.all(machine)?.into_iter().filter(|name| glob::matches(&self.name, name)) {
            let runs = status(provider, machine, &name, sig)?;
            found.insert(name, runs);
        }
        Ok(Value::Map(found))
    }
}
