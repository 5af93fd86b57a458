//! Functions that mask services, and reload systemd's unit files.

use rocksalt_macros::{arguments, function};

use super::super::{Masks, provider, systemd};
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// A service and a kind of mask.
#[arguments]
pub struct Masking {
    /// The name.
    name: String,
    /// The mask lasts only until the next boot.
    runtime: Flag,
}

impl Masking {
    fn masks(&self, machine: &dyn Probe) -> Result<&'static dyn Masks> {
        let provider = provider(machine, Some(&self.name))?;
        provider.masks().ok_or_else(|| Error::failed("Service masking not available on this minion"))
    }

    fn masked(self, machine: &dyn System) -> Result<bool> {
        self.masks(machine)?.masked(machine, &self.name, self.runtime.0)
    }

    fn set(self, machine: &dyn System, mask: bool) -> Result<bool> {
        let masks = self.masks(machine)?;
        if mask || masks.masked(machine, &self.name, self.runtime.0)? {
            masks.set_mask(machine, &self.name, self.runtime.0, mask)?;
        }
        Ok(true)
    }
}

/// Masks a service, so that it can't be started; with systemd only.
///
/// ```text
/// rocksalt '*' service.mask sshd
/// rocksalt '*' service.mask sshd runtime=True
/// ```
#[function("service.mask", changes, call = Masking::set(true) -> bool)]
pub struct Mask(Masking);

/// Whether a service is masked.
///
/// ```text
/// rocksalt '*' service.masked sshd
/// ```
#[function("service.masked", reads, call = Masking::masked -> bool)]
pub struct Masked(Masking);

/// Unmasks a service.
///
/// ```text
/// rocksalt '*' service.unmask sshd
/// ```
#[function("service.unmask", changes, call = Masking::set(false) -> bool)]
pub struct Unmask(Masking);

/// Makes systemd reload its unit files. Functions and states of `service` do so themselves where it is needed.
///
/// ```text
/// rocksalt '*' service.systemctl_reload
/// ```
#[function("service.systemctl_reload", changes)]
pub struct SystemctlReload {}

impl Function for SystemctlReload {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        systemd::reload_all(machine).map(|()| true)
    }
}
