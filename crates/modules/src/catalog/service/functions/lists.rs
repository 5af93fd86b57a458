//! Functions that list services.

use rocksalt_core::Map;
use rocksalt_macros::function;

use super::super::{Boot, provider, systemd};
use crate::catalog::Function;
use crate::machine::System;
use crate::{Error, Result};

macro_rules! lists {
    ($($(#[$doc:meta])+ $name:ident = $function:literal, $list:expr;)+) => {
        $(
            $(#[$doc])+
            #[function($function, reads)]
            pub struct $name {}

            impl Function for $name {
                type Output = Vec<String>;

                fn call(self, machine: &dyn System) -> Result<Vec<String>> {
                    ($list)(machine)
                }
            }
        )+
    };
}

fn at_boot(machine: &dyn System, wanted: Boot) -> Result<Vec<String>> {
    provider(machine, None)?.at_boot(machine, wanted)
}

lists! {
    /// All services.
    ///
    /// ```text
    /// rocksalt '*' service.get_all
    /// ```
    GetAll = "service.get_all", |machine: &dyn System| provider(machine, None)?.all(machine);
    /// The disabled services.
    ///
    /// ```text
    /// rocksalt '*' service.get_disabled
    /// ```
    GetDisabled = "service.get_disabled", |machine: &dyn System| at_boot(machine, Boot::Disabled);
    /// The enabled services.
    ///
    /// ```text
    /// rocksalt '*' service.get_enabled
    /// ```
    GetEnabled = "service.get_enabled", |machine: &dyn System| at_boot(machine, Boot::Enabled);
    /// The running services.
    ///
    /// ```text
    /// rocksalt '*' service.get_running
    /// ```
    GetRunning = "service.get_running", |machine: &dyn System| provider(machine, None)?.running(machine);
    /// The services that can be neither enabled nor disabled.
    ///
    /// ```text
    /// rocksalt '*' service.get_static
    /// ```
    GetStatic = "service.get_static", |machine: &dyn System| at_boot(machine, Boot::Static);
}

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
