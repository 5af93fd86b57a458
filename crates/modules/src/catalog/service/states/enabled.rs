//! `service.enabled` and `service.disabled`: whether a service starts at boot.

use rocksalt_macros::state;

use super::super::{ServiceOptions, provider};
use super::boot::{self, ServiceProcess};
use super::{request, touches, watch};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a service starts with the system. Whether it runs now is left as it is.
///
/// ```yaml
/// nginx:
///   service.enabled: []
/// ```
#[state("service.enabled", watches)]
pub struct Enabled {
    /// The service.
    name: String,
    /// Remove a mask first. With systemd only.
    unmask: Flag,
    /// Remove a mask that lasts until the next boot first. With systemd only.
    unmask_runtime: Flag,
}

/// Makes sure that a service does not start with the system. Whether it runs now is left as it is.
///
/// ```yaml
/// telnetd:
///   service.disabled: []
/// ```
#[state("service.disabled", watches)]
pub struct Disabled {
    /// The service. That there is none is well too.
    name: String,
}

fn plan(machine: &dyn Probe, name: &str, enable: bool, test: bool) -> Result<Decision> {
    let provider = provider(machine, Some(name))?;
    if !provider.available(machine, name)? {
        let created = format!("Service {name} not present; if created in this state run, it would have been enabled");
        let missing = request::unavailable(name);
        return Ok(Decision::Settled(match (enable, test) {
            (true, true) => Verdict::would(created),
            (true, false) => Verdict::bad(missing),
            (false, _) => Verdict::good(missing),
        }));
    }
    Ok(match boot::is_right(provider, machine, name, enable)? {
        true => Decision::Settled(Verdict::good(boot::already(name, enable, ServiceProcess::AsItWas))),
        false => Decision::Change(Plan::default(), boot::would(provider, machine, name, enable)?),
    })
}

impl State for Enabled {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        plan(machine, &self.name, true, step.test)
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let how = ServiceOptions {
            unmask: self.unmask.0,
            unmask_runtime: self.unmask_runtime.0,
            ..ServiceOptions::default()
        };
        let provider = provider(machine, Some(&self.name))?;
        boot::set(provider, machine, &self.name, true, &how, ServiceProcess::AsItWas)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(watch::unable("enabled"))
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl State for Disabled {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        plan(machine, &self.name, false, step.test)
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let provider = provider(machine, Some(&self.name))?;
        boot::set(provider, machine, &self.name, false, &ServiceOptions::default(), ServiceProcess::AsItWas)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(watch::unable("disabled"))
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}
