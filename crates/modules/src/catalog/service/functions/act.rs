//! Functions that start, stop, enable and disable services.

use rocksalt_core::Map;
use rocksalt_macros::{arguments, function};

use super::super::{ServiceAction, ServiceOptions, provider};
use crate::Result;
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::System;

/// A service and how it is treated.
#[arguments]
pub struct Acting {
    /// The name.
    name: String,
    /// Don't wait until it is done; with systemd only, as the next two.
    no_block: Option<bool>,
    /// Remove a mask first.
    unmask: Flag,
    /// Remove a mask that lasts until the next boot first.
    unmask_runtime: Flag,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Acting {
    fn how(&self, no_block: bool) -> ServiceOptions {
        ServiceOptions {
            no_block: self.no_block.unwrap_or(no_block),
            unmask: self.unmask.0,
            unmask_runtime: self.unmask_runtime.0,
            timeout: None,
        }
    }

    fn act(&self, machine: &dyn System, act: ServiceAction) -> Result<bool> {
        // Salt does not wait for this one.
        let how = self.how(act == ServiceAction::ForceReload);
        provider(machine, Some(&self.name))?.act(machine, act, &self.name, &how).map(|()| true)
    }

    fn set_boot(&self, machine: &dyn System, enable: bool) -> Result<bool> {
        provider(machine, Some(&self.name))?.set_boot(machine, &self.name, enable, &self.how(false)).map(|()| true)
    }
}

macro_rules! acts {
    ($($(#[$doc:meta])+ $name:ident = $function:literal, $act:expr;)+) => {
        $(
            $(#[$doc])+
            #[function($function, changes)]
            pub struct $name(Acting);

            impl Function for $name {
                type Output = bool;

                fn call(self, machine: &dyn System) -> Result<bool> {
                    ($act)(&self.0, machine)
                }
            }
        )+
    };
}

acts! {
    /// Disables a service: it doesn't start at boot.
    ///
    /// ```text
    /// rocksalt '*' service.disable sshd
    /// ```
    Disable = "service.disable", |it: &Acting, machine: &dyn System| it.set_boot(machine, false);
    /// Enables a service: it starts at boot.
    ///
    /// ```text
    /// rocksalt '*' service.enable sshd
    /// ```
    Enable = "service.enable", |it: &Acting, machine: &dyn System| it.set_boot(machine, true);
    /// Reloads a service's configuration, or restarts it if it can't reload.
    ///
    /// ```text
    /// rocksalt '*' service.force_reload sshd
    /// ```
    ForceReload = "service.force_reload", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::ForceReload);
    /// Stops a service and starts it again, in two steps.
    ///
    /// ```text
    /// rocksalt '*' service.full_restart sshd
    /// ```
    FullRestart = "service.full_restart", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::FullRestart);
    /// Reloads a service's configuration.
    ///
    /// ```text
    /// rocksalt '*' service.reload sshd
    /// ```
    Reload = "service.reload", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::Reload);
    /// Restarts a service.
    ///
    /// ```text
    /// rocksalt '*' service.restart sshd
    /// ```
    Restart = "service.restart", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::Restart);
    /// Starts a service.
    ///
    /// ```text
    /// rocksalt '*' service.start sshd
    /// rocksalt '*' service.start sshd unmask=True
    /// ```
    Start = "service.start", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::Start);
    /// Stops a service.
    ///
    /// ```text
    /// rocksalt '*' service.stop sshd
    /// ```
    Stop = "service.stop", |it: &Acting, machine: &dyn System| it.act(machine, ServiceAction::Stop);
}
