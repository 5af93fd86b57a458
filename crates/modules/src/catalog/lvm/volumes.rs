//! `lvm.lv_present` and `lv_absent`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Touches, Verdict};
use super::commands::{self, Volume};
use super::show;
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Makes sure that there is a logical volume, of a size.
///
/// ```yaml
/// www:
///   lvm.lv_present:
///     - vgname: data
///     - size: 10G
///     - resizefs: True
/// ```
#[state("lvm.lv_present", required("vgname"))]
pub struct LvPresent {
    /// The volume; with `snapshot`, the one that is shown.
    name: String,
    /// Its group; for a thin volume, `group/pool`.
    vgname: String,
    /// The size: `10G`, `512m`; megabytes without a unit.
    size: Value,
    /// The size in extents, or as a share: `100%FREE`. A share is not looked at again.
    extents: Value,
    /// The name of a snapshot of it.
    snapshot: Option<String>,
    /// The device that it lies on.
    #[default]
    pv: String,
    /// A thin volume: it takes its space from a pool on demand.
    thinvolume: Flag,
    /// A thin pool.
    thinpool: Flag,
    /// It may be made smaller.
    force: Flag,
    /// The file system in it gets the new size too.
    resizefs: Flag,
    /// Further options of `lvcreate`: `stripes`, `mirrors`, `type` …
    kwargs: Map,
}

impl State for LvPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let text = |value: &Value| value.truth().then(|| value.to_string());
        let (size, extents) = (text(&self.size), text(&self.extents));
        if size.is_some() && extents.is_some() {
            return Ok(Decision::Settled(Verdict::bad("Only one of extents or size can be specified.")));
        }
        let wanted = size.as_deref().map(sectors).transpose()?;
        let name = self.snapshot.as_ref().unwrap_or(&self.name);
        let path = self.path();
        let Some(known) = show::logical(machine, &path)?.get(&path).and_then(Value::as_map).cloned() else {
            let volume = Volume {
                name,
                group: &self.vgname,
                size,
                extents,
                snapshot: self.snapshot.as_ref().map(|_| self.name.as_str()),
                device: &self.pv,
                thin_volume: self.thinvolume.0,
                thin_pool: self.thinpool.0,
                force: self.force.0,
            };
            let said = format!("Logical volume \"{name}\" created.");
            let created: Map = [("Output from lvcreate".into(), said.into())].into_iter().collect();
            let done = Verdict::good(format!("Created Logical Volume {name}")).change("created", created);
            let plan = Plan::new(done)
                .run(&commands::lvcreate(machine, &volume, &self.kwargs)?)
                .or(format!("Failed to create Logical Volume {name}. Error:"));
            return Ok(plan.announced(format!("Logical Volume {name} is set to be created")));
        };
        let number = |key: &str| known.get(key).and_then(|value| value.to_string().parse::<u64>().ok()).unwrap_or(0);
        let (old_sectors, old_extents) = (number("Logical Volume Size"), number("Current Logical Extents Associated"));
        let present = format!("Logical Volume {name} already present");
        // LVM rounds the requested size to a whole number of extents.
        let new = match (wanted, extents.as_deref()) {
            (Some(wanted), _) if old_extents > 0 => {
                let each = (old_sectors / old_extents).max(1);
                wanted.div_ceil(each)
            }
            (None, Some(share)) if share.contains('%') => {
                let text = format!("{present}, {share} won't be resized.");
                return Ok(Decision::Settled(Verdict::good(text)));
            }
            (None, Some(extents)) => extents.trim().parse().map_err(|_| {
                Error::arguments(format!("lvm.lv_present: extents is a number or a share, not '{extents}'"))
            })?,
            _ => old_extents,
        };
        if new == old_extents {
            return Ok(Decision::Settled(Verdict::good(present)));
        }
        if new < old_extents && !self.force {
            let text = "To reduce a Logical Volume option 'force' must be True.";
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let said = format!("Logical volume \"{path}\" successfully resized.");
        let resized: Map = [("Output from lvresize".into(), said.into())].into_iter().collect();
        let (size, extents) = (size.as_deref(), extents.as_deref());
        let argv = commands::resize(machine, "lvresize", &path, size, extents, self.force.0, self.resizefs.0)?;
        let plan = Plan::new(Verdict::good(format!("Resized Logical Volume {name}")).change("resized", resized))
            .run(&argv)
            .or(format!("Failed to resize Logical Volume {name}.\nError:"));
        Ok(plan.announced(format!("Logical Volume {name} is set to be resized")))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let mut verdict = plan.carry_out(machine)?;
        // As in Salt, with the description of the new object.
        if let Some(Value::Map(created)) = verdict.changes.get_mut("created") {
            let mut whole = show::logical(machine, &self.path())?;
            whole.extend(std::mem::take(created));
            *created = whole;
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

impl LvPresent {
    fn path(&self) -> String {
        let name = self.snapshot.as_ref().unwrap_or(&self.name);
        let group = match self.thinvolume.0 {
            true => self.vgname.split('/').next().unwrap_or_default(),
            false => &self.vgname,
        };
        format!("/dev/{group}/{name}")
    }
}

/// Parses a size to sectors of 512 bytes; the default unit is megabytes.
fn sectors(size: &str) -> Result<u64> {
    let wrong = || Error::arguments(format!("Size {size} is invalid.")).hint("a size is a number with m, g, t or p");
    let lower = size.trim().to_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = lower[digits.len()..].strip_suffix('b').unwrap_or(&lower[digits.len()..]);
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let each: f64 = match unit {
        "s" => 1.0,
        "k" => 2.0,
        "" | "m" => 2048.0,
        "g" => 2048.0 * 1024.0,
        "t" => 2048.0 * 1024.0 * 1024.0,
        "p" => 2048.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    if !(number.is_finite() && number >= 0.0) {
        return Err(wrong());
    }
    Ok((number * each).ceil() as u64)
}

/// Makes sure that there is no such logical volume.
///
/// ```yaml
/// www:
///   lvm.lv_absent:
///     - vgname: data
/// ```
#[state("lvm.lv_absent", strict, required("vgname"))]
pub struct LvAbsent {
    /// The volume.
    name: String,
    /// Its group.
    vgname: String,
}

impl State for LvAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let LvAbsent { name, vgname } = self;
        if show::logical(machine, &format!("/dev/{vgname}/{name}"))?.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Logical Volume {name} already absent"))));
        }
        let said = format!("Logical volume \"{name}\" successfully removed");
        let plan = Plan::new(Verdict::good(format!("Removed Logical Volume {name}")).change("removed", said))
            .run(&commands::lvremove(machine, name, vgname, true)?)
            .or(format!("Failed to remove Logical Volume {name}"));
        Ok(plan.announced(format!("Logical Volume {name} is set to be removed")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (size, expected) in
            [("10", 20480), ("10m", 20480), ("1G", 2_097_152), ("1gb", 2_097_152), ("7s", 7), ("1.5g", 3_145_728)]
        {
            assert_eq!(sectors(size).expect("it is a size"), expected, "{size}");
        }
        for wrong in ["", "g", "10x", "-1g"] {
            assert!(sectors(wrong).is_err(), "{wrong}");
        }
    }
}
