//! `mount.unmounted`: nothing is mounted at a place.

use rocksalt_macros::state;

use super::super::file::Flag;

use super::super::{Decision, State, Step, Touches, Verdict};
use super::active::{self, Device};
use super::fstab::FstabTable;
use super::{fstab_path, mounting, touches, trimmed};
use crate::Result;
use crate::catalog::{Action, Plan};
use crate::machine::Probe;

/// Unmounts whatever is mounted at a place.
///
/// ```yaml
/// /mnt/sdb:
///   mount.unmounted:
///     - persist: True
/// ```
#[state("mount.unmounted")]
pub struct Unmounted {
    /// The mount point.
    name: String,
    /// Only if this device is mounted there.
    device: Option<String>,
    /// The file with the entries.
    #[default(fstab_path())]
    config: String,
    /// Remove the entry too.
    persist: Flag,
    /// Who unmounts it.
    user: Option<String>,
}

impl State for Unmounted {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        if self.name.is_empty() {
            return Ok(Decision::Settled(Verdict::bad("Must provide name to mount.unmounted")));
        }
        let name = trimmed(&self.name);
        let mounts = active::all(machine)?;
        let mut there: Vec<_> = mounts.iter().filter(|mount| mount.point == name).collect();
        if let Some(device) = &self.device {
            match Device::find(machine, device) {
                Ok(device) => there.retain(|mount| mount.is_of(machine, &device)),
                Err(_) => there.clear(),
            }
        }
        let mut would = None;
        let mut comment = "Target was already unmounted".to_owned();
        let mut plan = Plan::new(Verdict::good(""));
        if !there.is_empty() {
            would = Some(format!("Mount point {name} is mounted but should not be"));
            comment = "Target was successfully unmounted".to_owned();
            plan.done.changes.insert("umount", true);
            // Mounts may be stacked.
            for _ in &there {
                plan = plan.then(Action::Run(mounting::umount(name, false, self.user.as_deref())));
            }
        }
        if self.persist.0 {
            let table = match FstabTable::read(machine, &self.config) {
                Ok(table) => table,
                Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
            };
            match (table.lines().any(|line| line.name == name), table.without(name, self.device.as_deref())) {
                (false, _) => comment += ". fstab entry not found",
                (true, None) => {
                    let device = self.device.as_deref().unwrap_or_default();
                    comment += &format!(". fstab entry for device {device} not found");
                }
                (true, Some(text)) => {
                    comment += ". Removed target from fstab";
                    plan.done.changes.insert("persist", "purged");
                    plan = plan.write(&self.config, text);
                    would.get_or_insert_with(|| {
                        let config = &self.config;
                        format!(
                            "Mount point {name} is unmounted but needs to be purged from {config} to be made persistent"
                        )
                    });
                }
            }
        }
        plan.done.comment = comment;
        match would {
            Some(would) => Ok(plan.announced(would)),
            None => Ok(Decision::Settled(plan.done)),
        }
    }

    fn touches(&self) -> Touches {
        touches(&self.name, "", &self.config, self.persist.0)
    }
}
