//! `sysctl.present`: a parameter has a value, now and after the next boot.

use rocksalt_core::Value;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::{Decision, State, Step, Thing, Touches, Verdict, tool};
use super::config::{SysctlConfig, default_path};
use super::kernel;
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Sets a kernel parameter, at once and for every boot.
///
/// ```yaml
/// vm.swappiness:
///   sysctl.present:
///     - value: 20
///     - config: /etc/sysctl.d/10-swap.conf
/// ```
#[state("sysctl.present", strict, required("value"))]
pub struct Present {
    /// The parameter.
    name: String,
    /// Its value, as the kernel shows it.
    #[required]
    value: Value,
    /// The file that it is written to; Salt's own unless told: `/etc/sysctl.d/99-salt.conf` with systemd, else
    /// `/etc/sysctl.conf`.
    config: Option<String>,
}

/// The required changes.
#[derive(Serialize, Deserialize)]
pub struct SysctlPlan {
    assign: bool,
    /// Path and new content.
    write: Option<(String, String)>,
    done: Verdict,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, value) = (&self.name, self.value.to_string());
        let bad = |error: Error| Decision::Settled(Verdict::bad(format!("Failed to set {name} to {value}: {error}")));
        if value.contains('\n') {
            return Err(Error::arguments(format!("sysctl.present: the value of {name} has more than one line")));
        }
        let config = self.config.as_deref().unwrap_or(default_path(machine));
        let current = match kernel::get(machine, name) {
            Ok(current) => current,
            Err(error) => return Ok(bad(error)),
        };
        // An earlier step may load the module that provides it: only the run itself knows.
        if current.is_none() && !step.test {
            return Ok(bad(kernel::missing(name)));
        }
        let found = match SysctlConfig::read(machine, config) {
            Ok(found) => found,
            Err(error) => return Ok(bad(error)),
        };
        let is_now = current.as_deref().is_some_and(|current| kernel::same(current, &value));
        let named = found.as_ref().is_some_and(|found| found.names(name));
        let stays = found.as_ref().is_some_and(|found| found.sets(name, &value));
        if is_now && stays {
            return Ok(Decision::Settled(Verdict::good(format!("Sysctl value {name} = {value} is already set"))));
        }
        let comment = match named {
            true if current.as_deref() == Some("") => format!(
                "Sysctl value {name} is present in configuration file but is not present in the running config. The \
                 value {name} is set to be changed to {value}"
            ),
            true => format!("Sysctl option {name} would be changed to {value}"),
            false if is_now => format!(
                "Sysctl value is currently set on the running system but not in a config file. Sysctl option {name} \
                 set to be changed to {value} in config file."
            ),
            false => format!("Sysctl option {name} set to be changed to {value}"),
        };
        let done =
            Verdict::good(format!("Updated sysctl value {name} = {value}")).change(name.as_str(), self.value.clone());
        let would = Verdict { result: None, comment, ..done.clone() };
        let write = (!stays).then(|| (config.to_owned(), found.unwrap_or_else(SysctlConfig::fresh).with(name, &value)));
        Decision::own(&SysctlPlan { assign: !is_now, write, done }, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: SysctlPlan = plan.into_own()?;
        let (name, value) = (&self.name, self.value.to_string());
        // The kernel first: a value that it refuses must not be left for the next boot.
        let assigned = if plan.assign { kernel::assign(machine, name, &value) } else { Ok(()) };
        let written = assigned.and_then(|()| match &plan.write {
            Some((path, content)) => tool::write(machine, path, content.as_bytes(), None),
            None => Ok(()),
        });
        Ok(match written {
            Ok(()) => plan.done,
            Err(error) => Verdict::bad(format!("Failed to set {name} to {value}: {error}")),
        })
    }

    fn touches(&self) -> Touches {
        let path = kernel::path_of(&self.name).unwrap_or_default();
        let touches = Touches::nothing().writes(Thing::Path(path));
        match &self.config {
            Some(config) => touches.writes(Thing::Path(config.clone())),
            None => touches
                .writes(Thing::Path("/etc/sysctl.d/99-salt.conf".into()))
                .writes(Thing::Path("/etc/sysctl.conf".into())),
        }
    }
}
