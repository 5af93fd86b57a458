//! Functions that list services.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::super::{Boot, provider, systemd};
use crate::catalog::Function;
use crate::machine::System;
use crate::{Error, Result};

fn all(machine: &dyn System) -> Result<Vec<String>> {
    provider(machine, None)?.all(machine)
}

fn running(machine: &dyn System) -> Result<Vec<String>> {
    provider(machine, None)?.running(machine)
}

fn at_boot(machine: &dyn System, wanted: Boot) -> Result<Vec<String>> {
    provider(machine, None)?.at_boot(machine, wanted)
}

/// All services.
///
/// ```text
/// rocksalt '*' service.get_all
/// ```
#[function("service.get_all", reads, call = all -> Vec<String>)]
pub struct GetAll {}

/// The disabled services.
///
/// ```text
/// rocksalt '*' service.get_disabled
/// ```
#[function("service.get_disabled", reads, call = at_boot(Boot::Disabled) -> Vec<String>)]
pub struct GetDisabled {}

/// The enabled services.
///
/// ```text
/// rocksalt '*' service.get_enabled
/// ```
#[function("service.get_enabled", reads, call = at_boot(Boot::Enabled) -> Vec<String>)]
pub struct GetEnabled {}

/// The running services.
///
/// ```text
/// rocksalt '*' service.get_running
/// ```
#[function("service.get_running", reads, call = running -> Vec<String>)]
pub struct GetRunning {}

/// The services that can be neither enabled nor disabled.
///
/// ```text
/// rocksalt '*' service.get_static
/// ```
#[function("service.get_static", reads, call = at_boot(Boot::Static) -> Vec<String>)]
pub struct GetStatic {}

fn only_systemd(machine: &dyn System) -> Result<()> {
    let provider = provider(machine, None)?;
    match provider.masks().is_some() && !provider.offline() {
        true => Ok(()),
        false => Err(Error::failed("only systemd can tell, and it does not run on the target")),
    }
}

/// Each service's program.
///
/// ```text
/// rocksalt '*' service.execs
/// ```
#[function("service.execs", reads)]
pub struct Execs {}

impl Function for Execs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        only_systemd(machine)?;
        systemd::programs(machine, &provider(machine, None)?.all(machine)?)
    }
}

/// All properties that systemd has of a service.
///
/// ```text
/// rocksalt '*' service.show sshd
/// ```
#[function("service.show", reads)]
pub struct Show {
    /// The name.
    name: String,
}

impl Function for Show {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        provider(machine, Some(&self.name))?;
        only_systemd(machine)?;
        systemd::show(machine, &self.name)
    }
}
