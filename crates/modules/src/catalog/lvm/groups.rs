//! `lvm.vg_present` and `vg_absent`.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::canonical;
use super::super::{Decision, State, Step, Touches, Verdict};
use super::{commands, show};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that there is a volume group, and that these devices are in it.
///
/// ```yaml
/// data:
///   lvm.vg_present:
///     - devices: [/dev/sdb, /dev/sdc]
/// ```
#[state("lvm.vg_present")]
pub struct VgPresent {
    /// The group.
    name: String,
    /// Its devices, as a list or a comma-separated text.
    devices: Value,
    /// Further options of `vgcreate`: `physicalextentsize`, `maxlogicalvolumes` …
    kwargs: Map,
}

impl State for VgPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let devices = crate::text::words::listed(&self.devices);
        if show::groups(machine, name)?.is_empty() {
            let said = format!("Volume group \"{name}\" successfully created");
            let created: Map = [("Output from vgcreate".into(), said.into())].into_iter().collect();
            let done = Verdict::good(format!("Created Volume Group {name}")).change("created", created);
            let plan = Plan::new(done)
                .run(&commands::vgcreate(machine, name, &devices, false, &self.kwargs)?)
                .or(format!("Failed to create Volume Group {name}"));
            return Ok(plan.announced(format!("Volume Group {name} is set to be created")));
        }
        let mut lines = vec![format!("Volume Group {name} already present")];
        let (mut add, mut bad) = (Vec::new(), false);
        for device in devices {
            let real = canonical(machine, Path::new(&device)).to_string_lossy().into_owned();
            let known = show::physical(machine, &real, true)?;
            let group = known.get(&real).and_then(Value::as_map).and_then(|known| known.get("Volume Group Name"));
            match group.map(ToString::to_string).as_deref() {
                Some(group) if group == name => lines.push(format!("{device} is part of Volume Group")),
                Some("" | "#orphans_lvm2") => add.push(device),
                Some(group) => {
                    bad = true;
                    lines.push(format!("{device} is part of {group}"));
                }
                None => {
                    bad = true;
                    lines.push(format!("pv {device} is not present"));
                }
            }
        }
        let comment = lines.join("\n");
        if bad || add.is_empty() {
            return Ok(Decision::Settled(if bad { Verdict::bad(comment) } else { Verdict::good(comment) }));
        }
        let mut plan = Plan::new(Verdict::good(&comment));
        for device in &add {
            plan.done.changes.insert(device.as_str(), format!("added to {name}"));
        }
        let plan = plan.run(&commands::vgextend(machine, name, &add, false)?);
        let failure = format!("{comment}\n{} could not be added", add.join(", "));
        Ok(plan.or(failure).announced(format!("{comment}\n{} is set to be added", add.join(", "))))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let mut verdict = plan.carry_out(machine)?;
        // As in Salt, with the description of the new object.
        if let Some(Value::Map(created)) = verdict.changes.get_mut("created") {
            let mut whole = show::groups(machine, &self.name)?;
            whole.extend(std::mem::take(created));
            *created = whole;
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

/// Makes sure that there is no such volume group.
///
/// ```yaml
/// data:
///   lvm.vg_absent
/// ```
#[state("lvm.vg_absent", strict)]
pub struct VgAbsent {
    /// The group.
    name: String,
}

impl State for VgAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if show::groups(machine, name)?.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Volume Group {name} already absent"))));
        }
        let said = format!("Volume group \"{name}\" successfully removed");
        let plan = Plan::new(Verdict::good(format!("Removed Volume Group {name}")).change("removed", said))
            .run(&commands::vgremove(machine, name, true)?)
            .or(format!("Failed to remove Volume Group {name}"));
        Ok(plan.announced(format!("Volume Group {name} is set to be removed")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}
