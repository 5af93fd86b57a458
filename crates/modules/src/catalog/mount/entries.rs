//! `mount.fstab_present` and `fstab_absent`: entries of fstab, independent of current mounts.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::tool;
use super::super::{Decision, State, Step, Touches, Verdict};
use super::fstab::{FstabChange, FstabLine, FstabTable, MatchOn};
use super::mounting::MountRequest;
use super::{fstab_path, listed, touches, trimmed};
use crate::catalog::{Action, Plan};
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that there is an entry in `/etc/fstab`; a new one is mounted.
///
/// ```yaml
/// /dev/sdb1:
///   mount.fstab_present:
///     - fs_file: /mnt/sdb
///     - fs_vfstype: ext4
/// ```
#[state("mount.fstab_present", strict, required("fs_file", "fs_vfstype"))]
pub struct FstabPresent {
    /// The device, in any form that an entry may have.
    name: String,
    /// The mount point.
    fs_file: String,
    /// The type of the file system.
    fs_vfstype: String,
    /// Options, as a list or a comma-separated text.
    #[default("defaults")]
    fs_mntops: Value,
    /// The fifth field.
    #[default]
    fs_freq: i64,
    /// The sixth field: in which turn it is checked.
    #[default]
    fs_passno: i64,
    /// How the entry names the device: `device`, `label`, `uuid`, `partlabel`, `partuuid`; as given by default.
    mount_by: Option<String>,
    /// The file with the entries.
    #[default(fstab_path())]
    config: String,
    /// Mount it, if the entry is new.
    #[default(true)]
    mount: Flag,
    /// Which fields tell that an entry is the one: `auto`, or a name or list.
    match_on: Value,
    /// Leave an entry that is there as it is.
    not_change: Flag,
    /// Accepted for compatibility with Salt: it means something on AIX only.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    fs_mount: Value,
}

impl State for FstabPresent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let (name, config, place) = (&self.name, &self.config, trimmed(&self.fs_file));
        let on = MatchOn::new(&self.match_on, &self.fs_vfstype)?;
        let Some(device) = named_by(machine, name, self.mount_by.as_deref())? else {
            let by = self.mount_by.as_deref().unwrap_or_default();
            return Ok(Decision::Settled(Verdict::bad(format!("Device {name} cannot be converted to {by}"))));
        };
        let table = match FstabTable::read(machine, config) {
            Ok(table) => table,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
        };
        let options = listed(&self.fs_mntops);
        let line = FstabLine {
            device,
            name: place.to_owned(),
            fstype: self.fs_vfstype.clone(),
            options: options.join(","),
            dump: self.fs_freq.to_string(),
            pass: self.fs_passno.to_string(),
        };
        let (change, text) = table.with(&line, &on, self.not_change.0);
        let (done, would) = match change {
            FstabChange::Present => {
                let is = if step.test { "is" } else { "was" };
                return Ok(Decision::Settled(Verdict::good(format!("{place} entry {is} already in {config}."))));
            }
            FstabChange::New => {
                (format!("{place} entry added in {config}."), format!("{place} entry will be written in {config}."))
            }
            FstabChange::Update => {
                (format!("{place} entry updated in {config}."), format!("{place} entry will be updated in {config}."))
            }
        };
        let plan = Plan::new(Verdict::good(&done).change("persist", change.word())).write(config, text);
        if change != FstabChange::New || !self.mount.0 {
            return Ok(plan.announced(would));
        }
        let mut plan = plan
            .then(Action::Run(MountRequest { name: place, ..MountRequest::default() }.mount()))
            .or(format!("{done}\nError while mounting:"));
        plan.done.comment = format!("{done}\nMounted {name} on {place}");
        // If only the mounting fails, the entry has still been added.
        Ok(plan.changed_by_first().announced(format!("{would}\nWill mount {name} on {place}")))
    }

    fn touches(&self) -> Touches {
        touches(&self.fs_file, &self.name, &self.config, true)
    }
}

/// Makes sure that there is no entry in `/etc/fstab`.
///
/// ```yaml
/// /dev/sdb1:
///   mount.fstab_absent:
///     - fs_file: /mnt/sdb
/// ```
#[state("mount.fstab_absent", strict, required("fs_file"))]
pub struct FstabAbsent {
    /// The device, in any form that an entry may have.
    name: String,
    /// The mount point.
    fs_file: String,
    /// How the entry names the device: `device`, `label`, `uuid`, `partlabel`, `partuuid`; as given by default.
    mount_by: Option<String>,
    /// The file with the entries.
    #[default(fstab_path())]
    config: String,
}

impl State for FstabAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (config, place) = (&self.config, trimmed(&self.fs_file));
        let device = named_by(machine, &self.name, self.mount_by.as_deref())?;
        let table = FstabTable::read(machine, config).ok();
        match table.and_then(|table| table.without(place, device.as_deref())) {
            None => Ok(Decision::Settled(Verdict::good(format!("{place} entry is already missing in {config}.")))),
            Some(text) => {
                let done = Verdict::good(format!("{place} entry removed from {config}.")).change("persist", "removed");
                let plan = Plan::new(done)
                    .write(config, text)
                    .or(format!("{place} entry failed when removing from {config}."));
                Ok(plan.announced(format!("{place} entry will be removed from {config}.")))
            }
        }
    }

    fn touches(&self) -> Touches {
        touches(&self.fs_file, &self.name, &self.config, true)
    }
}

/// A device by another kind of name, from `blkid`; `None` if it has none.
fn named_by(machine: &dyn Probe, name: &str, by: Option<&str>) -> Result<Option<String>> {
    let Some(by) = by else { return Ok(Some(name.to_owned())) };
    if !["device", "label", "uuid", "partlabel", "partuuid"].contains(&by) {
        return Err(Error::arguments(format!(
            "mount_by is one of device, label, uuid, partlabel and partuuid, not '{by}'"
        )));
    }
    let key = by.to_ascii_uppercase();
    if (by == "device" && name.starts_with('/')) || name.starts_with(&format!("{key}=")) {
        return Ok(Some(name.to_owned()));
    }
    let device = match name.starts_with('/') {
        true => name.to_owned(),
        false => match tool::told(machine, &["blkid", "-t", name, "-o", "device"]) {
            Ok(found) if found.lines().count() == 1 => found.trim().to_owned(),
            _ => return Ok(None),
        },
    };
    if by == "device" {
        return Ok(Some(device));
    }
    let value = tool::told(machine, &["blkid", "-o", "value", "-s", &key, "--", &device]).unwrap_or_default();
    Ok(Some(value.trim()).filter(|value| !value.is_empty()).map(|value| format!("{key}={value}")))
}
