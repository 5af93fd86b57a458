//! Functions that start, stop, enable and disable services.

use rocksalt_core::Map;
use rocksalt_macros::{arguments, function};

use super::super::{ServiceAction, ServiceOptions, provider};
use crate::Result;
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

    fn act(self, machine: &dyn System, act: ServiceAction) -> Result<bool> {
        // Salt does not wait for this action.
        let how = self.how(act == ServiceAction::ForceReload);
        provider(machine, Some(&self.name))?.act(machine, act, &self.name, &how).map(|()| true)
    }

    fn set_boot(self, machine: &dyn System, enable: bool) -> Result<bool> {
        provider(machine, Some(&self.name))?.set_boot(machine, &self.name, enable, &self.how(false)).map(|()| true)
    }
}

/// Disables a service: it doesn't start at boot.
///
/// ```text
/// rocksalt '*' service.disable sshd
/// ```
#[function("service.disable", changes, call = Acting::set_boot(false) -> bool)]
pub struct Disable(Acting);

/// Enables a service: it starts at boot.
///
/// ```text
/// rocksalt '*' service.enable sshd
/// ```
#[function("service.enable", changes, call = Acting::set_boot(true) -> bool)]
pub struct Enable(Acting);

/// Reloads a service's configuration, or restarts it if it can't reload.
///
/// ```text
/// rocksalt '*' service.force_reload sshd
/// ```
#[function("service.force_reload", changes, call = Acting::act(ServiceAction::ForceReload) -> bool)]
pub struct ForceReload(Acting);

/// Stops a service and starts it again, in two steps.
///
/// ```text
/// rocksalt '*' service.full_restart sshd
/// ```
#[function("service.full_restart", changes, call = Acting::act(ServiceAction::FullRestart) -> bool)]
pub struct FullRestart(Acting);

/// Reloads a service's configuration.
///
/// ```text
/// rocksalt '*' service.reload sshd
/// ```
#[function("service.reload", changes, call = Acting::act(ServiceAction::Reload) -> bool)]
pub struct Reload(Acting);

/// Restarts a service.
///
/// ```text
/// rocksalt '*' service.restart sshd
/// ```
#[function("service.restart", changes, call = Acting::act(ServiceAction::Restart) -> bool)]
pub struct Restart(Acting);

/// Starts a service.
///
/// ```text
/// rocksalt '*' service.start sshd
/// rocksalt '*' service.start sshd unmask=True
/// ```
#[function("service.start", changes, call = Acting::act(ServiceAction::Start) -> bool)]
pub struct Start(Acting);

/// Stops a service.
///
/// ```text
/// rocksalt '*' service.stop sshd
/// ```
#[function("service.stop", changes, call = Acting::act(ServiceAction::Stop) -> bool)]
pub struct Stop(Acting);
