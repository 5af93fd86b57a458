//! `lvm.pv_present` and `pv_absent`.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Touches, Verdict};
use super::{commands, show};
use crate::Result;
use crate::catalog::Plan;
use crate::grains::look;
use crate::machine::Probe;

/// Initializes a device as a physical volume. All data on it is lost.
///
/// ```yaml
/// /dev/sdb:
///   lvm.pv_present
/// ```
#[state("lvm.pv_present")]
pub struct PvPresent {
    /// The device.
    name: String,
    /// Further options of `pvcreate`: `dataalignment`, `metadatasize` …
    kwargs: Map,
}

impl State for PvPresent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if !show::physical(machine, name, false)?.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Physical Volume {name} already present"))));
        }
        let failure = format!("Failed to create Physical Volume {name}");
        if !step.test && !look::exists(machine, name) {
            return Ok(Decision::Settled(Verdict::bad(format!("{failure}\n{name} does not exist"))));
        }
        let done = Verdict::good(format!("Created Physical Volume {name}")).change("created", true);
        let argv = commands::pvcreate(machine, std::slice::from_ref(name), true, &self.kwargs)?;
        Ok(Plan::new(done).run(&argv).or(failure).announced(format!("Physical Volume {name} is set to be created")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

/// Makes sure that a device is no physical volume.
///
/// ```yaml
/// /dev/sdb:
///   lvm.pv_absent
/// ```
#[state("lvm.pv_absent", strict)]
pub struct PvAbsent {
    /// The device.
    name: String,
}

impl State for PvAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if show::physical(machine, name, false)?.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Physical Volume {name} does not exist"))));
        }
        let done = Verdict::good(format!("Removed Physical Volume {name}")).change("removed", true);
        let plan = Plan::new(done)
            .run(&commands::pvremove(machine, std::slice::from_ref(name), true)?)
            .or(format!("Failed to remove Physical Volume {name}"));
        Ok(plan.announced(format!("Physical Volume {name} is set to be removed")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}
