//! Enables and disables services at boot, for several states.

use super::super::{ServiceOptions, ServiceProvider};
use crate::Result;
use crate::catalog::Verdict;
use crate::machine::{Probe, System};

/// The state of the service's process before this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceProcess {
    Running,
    Dead,
    /// The process was not changed.
    AsItWas,
}

impl ServiceProcess {
    fn words(self) -> &'static str {
        match self {
            ServiceProcess::Running => "is running",
            ServiceProcess::Dead => "is dead",
            ServiceProcess::AsItWas => "is in the desired state",
        }
    }
}

pub fn is_right(provider: &dyn ServiceProvider, machine: &dyn Probe, name: &str, enable: bool) -> Result<bool> {
    Ok(provider.enabled(machine, name)? == enable)
}

pub fn already(name: &str, enable: bool, process: ServiceProcess) -> String {
    format!("Service {name} is already {}, and {}", word(enable), process.words())
}

/// The verdict of a dry run. A service that can't be enabled or disabled does not change.
pub fn would(provider: &dyn ServiceProvider, machine: &dyn Probe, name: &str, enable: bool) -> Result<Verdict> {
    let verdict = Verdict::would(format!("Service {name} set to be {}", word(enable)));
    Ok(if provider.can_toggle(machine, name)? { verdict.change(name, true) } else { verdict })
}

/// Enables or disables the service if needed.
pub fn set(
    provider: &dyn ServiceProvider,
    machine: &dyn System,
    name: &str,
    enable: bool,
    how: &ServiceOptions,
    process: ServiceProcess,
) -> Result<Verdict> {
    let error = match provider.set_boot(machine, name, enable, how) {
        Ok(()) => {
            let verdict = Verdict::good(format!("Service {name} has been {}, and {}", word(enable), process.words()));
            let changed = is_right(provider, machine, name, enable)?;
            return Ok(if changed { verdict.change(name, true) } else { verdict });
        }
        Err(error) => error,
    };
    let start = if enable { "to start at boot" } else { "to not start at boot" };
    let state = match (process, enable) {
        (ServiceProcess::Running, true) => ", but the service is running",
        (ServiceProcess::Running, false) => ", and is running",
        (ServiceProcess::AsItWas, _) => ", but the service was already running",
        (ServiceProcess::Dead, _) => ", and the service is dead",
    };
    let comment = format!("Failed when setting service {name} {start}{state}");
    Ok(Verdict::bad(format!("{comment}. Additional information follows:\n\n{error}")))
}

fn word(enable: bool) -> &'static str {
    if enable { "enabled" } else { "disabled" }
}
