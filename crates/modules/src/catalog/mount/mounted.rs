//! `mount.mounted`: a file system is mounted somewhere, now and after the next boot.

use std::path::Path;

use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::file::{Flag, canonical};
use super::super::{Decision, State, Step, Touches, Verdict, tool};
use super::active::{self, ActiveMount, Device};
use super::fstab::{FstabChange, FstabLine, FstabTable, MatchOn};
use super::mounting::{self, MountRequest};
use super::options::{self, Extra};
use super::{fstab_path, listed, touches, trimmed};
use crate::Result;
use crate::catalog::Plan;
use crate::grains::look;
use crate::machine::{Probe, System};

/// Mounts a file system, and writes it to `/etc/fstab`.
///
/// ```yaml
/// /mnt/sdb:
///   mount.mounted:
///     - device: /dev/sdb1
///     - fstype: ext4
///     - mkmnt: True
///     - opts:
///       - noatime
/// ```
#[state("mount.mounted", watches, required("device", "fstype"))]
pub struct Mounted {
    /// The mount point.
    name: String,
    /// The device: a path, `UUID=…`, `LABEL=…`, `host:/path`.
    device: String,
    /// The type of the file system.
    fstype: String,
    /// Create the directory if it doesn't exist.
    mkmnt: Flag,
    /// Options, as a list or a comma-separated text.
    #[default("defaults")]
    opts: Value,
    /// The fifth field of the entry.
    #[default]
    dump: i64,
    /// The sixth field of the entry: in which turn it is checked.
    #[default]
    pass_num: i64,
    /// The file with the entries.
    #[default(fstab_path())]
    config: String,
    /// Write an entry.
    #[default(true)]
    persist: Flag,
    /// Mount it at once.
    #[default(true)]
    mount: Flag,
    /// The user to mount as.
    user: Option<String>,
    /// Which fields of an entry tell that it is the one: `auto`, or a name or list of `device`, `name`, `fstype`,
    /// `opts`.
    match_on: Value,
    /// Patterns for devices that are as good as the one that is named.
    device_name_regex: Value,
    /// More options that the kernel does not show.
    extra_mount_invisible_options: Value,
    /// More options with a value that the kernel does not show.
    extra_mount_invisible_keys: Value,
    /// For a type of file system, the options that don't matter.
    extra_mount_ignore_fs_keys: Value,
    /// Options that the kernel shows otherwise.
    extra_mount_translate_options: Value,
    /// Options that are never a reason to mount anew.
    hidden_opts: Value,
    /// Accepted for compatibility with Salt: the options of what a bind mount shows are not written to its entry here.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    bind_mount_copy_active_opts: Value,
}

/// The required change of the mount.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum MountAction {
    Nothing,
    Mount,
    MakeDirectory,
    Remount,
    /// Some file systems can't change these options while mounted.
    UnmountMount,
    Replace,
}

#[derive(Serialize, Deserialize)]
pub struct MountPlan {
    act: MountAction,
    /// The new text of fstab.
    entry: Option<String>,
    done: Verdict,
}

/// The result of examining the mount.
struct Finding {
    act: MountAction,
    /// The comments of the run and of the dry run.
    comment: String,
    would: String,
    /// The dry run doesn't mention the entry.
    only: bool,
    changes: Map,
}

impl State for Mounted {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        for (value, what) in [(&self.name, "name"), (&self.device, "device"), (&self.fstype, "fstype")] {
            if value.is_empty() {
                return Ok(Decision::Settled(Verdict::bad(format!("Must provide {what} to mount.mounted"))));
            }
        }
        let name = trimmed(&self.name);
        let on = MatchOn::new(&self.match_on, &self.fstype)?;
        let table = match self.persist.0 {
            true => match FstabTable::read(machine, &self.config) {
                Ok(table) => Some(table),
                Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
            },
            false => None,
        };
        let mut finding = match self.look(machine, name, table.as_ref())? {
            Ok(finding) => finding,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(text))),
        };
        if finding.act == MountAction::Mount && !look::exists(machine, name) && !self.mkmnt.0 {
            // In a dry run an earlier step may create it.
            let would = Verdict::would(finding.would);
            let verdict = if step.test { would } else { Verdict::bad("Mount directory is not present") };
            return Ok(Decision::Settled(verdict));
        }
        let mut entry = None;
        if let Some(table) = table {
            let (change, text) = table.with(&self.line(name), &on, false);
            let (told, would) = self.told(change, name);
            finding.comment += told;
            match change {
                FstabChange::Present if !finding.only => finding.would += told,
                FstabChange::Present => {}
                _ => {
                    finding.changes.insert("persist", if change == FstabChange::New { "new" } else { "update" });
                    entry = Some(text);
                    if !finding.only {
                        finding.would = format!("{}. {would}", finding.would);
                    }
                }
            }
        }
        let done = Verdict::good(finding.comment).changes(finding.changes);
        if finding.act == MountAction::Nothing && entry.is_none() {
            let comment = if step.test { finding.would } else { done.comment.clone() };
            return Ok(Decision::Settled(Verdict { comment, ..done }));
        }
        let would = Verdict { result: None, comment: finding.would, ..done.clone() };
        Decision::own(&MountPlan { act: finding.act, entry, done }, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: MountPlan = plan.into_own()?;
        let name = trimmed(&self.name);
        let mut done = plan.done;
        if let Err(error) = self.act(machine, name, plan.act, &mut done.changes) {
            return Ok(Verdict::bad(error.to_string()));
        }
        if let Some(text) = plan.entry
            && let Err(error) = tool::write(machine, &self.config, text.as_bytes(), None)
        {
            done.changes.remove("persist");
            let comment = format!("the mount itself is as it should be, but {error}");
            return Ok(Verdict { result: Some(false), comment, ..done });
        }
        Ok(done)
    }

    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        match self.plan(machine, step)? {
            Decision::Settled(verdict) if verdict.result == Some(true) && self.mount.0 => {
                let name = trimmed(&self.name);
                let done = Verdict::good(format!("{name} remounted"));
                let would = Verdict::would(format!("{name} would be remounted"));
                Decision::own(&MountPlan { act: MountAction::Remount, entry: None, done }, would)
            }
            other => Ok(other),
        }
    }

    fn touches(&self) -> Touches {
        touches(&self.name, &self.device, &self.config, self.persist.0)
    }
}

impl Mounted {
    /// The required change of the mount; the inner error is the reason why it is unknown.
    fn look(&self, machine: &dyn Probe, name: &str, table: Option<&FstabTable>) -> Result<Result<Finding, String>> {
        let mounts = active::all(machine)?;
        let real = canonical(machine, Path::new(name)).to_string_lossy().into_owned();
        let Some(current) = active::at(&mounts, &real) else { return Ok(Ok(self.absent(machine, name))) };
        if !self.mount.0 {
            return Ok(Ok(Finding::new(MountAction::Nothing, "")));
        }
        let wanted = listed(&self.opts);
        let device = match Device::find(machine, &self.device) {
            Ok(device) => device,
            Err(text) => return Ok(Err(text)),
        };
        let bind = wanted.iter().any(|option| option == "bind" || option == "rbind");
        let same = match bind && self.device.starts_with('/') {
            true => shows(&mounts, current, &device.real),
            false => current.is_of(machine, &device),
        };
        if !same {
            return self.other_device(machine, current, &device).map(Ok);
        }
        let extra = Extra::new(
            &self.extra_mount_invisible_options,
            &self.hidden_opts,
            &self.extra_mount_invisible_keys,
            &self.extra_mount_ignore_fs_keys,
            &self.extra_mount_translate_options,
        );
        let mut changed = options::missing(machine, current, &self.fstype, &wanted, &extra);
        if changed.is_empty() {
            changed = self.given_up(machine, current, name, table, &wanted, &extra);
        }
        let mut found = Finding::new(MountAction::Nothing, "Target was already mounted");
        if !changed.is_empty() {
            let list = changed.join(",");
            let anew = matches!(self.fstype.as_str(), "nfs" | "cvfs") || self.fstype.starts_with("fuse");
            found.act = if anew { MountAction::UnmountMount } else { MountAction::Remount };
            found.would = format!("Remount would be forced because options ({list}) changed");
            found.only = true;
            let how = if anew { "unmount and mount" } else { "remount" };
            found.changes.insert("umount", format!("Forced {how} because options ({list}) changed"));
        }
        Ok(Ok(found))
    }

    /// Replaces the mount of another device, unless `device_name_regex` accepts it.
    fn other_device(&self, machine: &dyn Probe, current: &ActiveMount, device: &Device) -> Result<Finding> {
        let mut others = vec![current.device.clone()];
        others.push(canonical(machine, Path::new(&current.device)).to_string_lossy().into_owned());
        for pattern in listed(&self.device_name_regex) {
            let pattern = Pattern::at_start(&pattern, Flags::default())?;
            for other in &others {
                if pattern.matches(other)? {
                    return Ok(Finding::new(
                        MountAction::Nothing,
                        &format!("An umount will not be forced because device matched device_name_regex: {other}"),
                    ));
                }
            }
        }
        let mut text = format!("Forced unmount because devices don't match. Wanted: {}", device.given);
        if device.real != device.given {
            text += &format!(" ({})", device.real);
        }
        text += &format!(", current: {}", others.join(", "));
        let mut found = Finding::new(MountAction::Replace, "Target was successfully mounted");
        found.would =
            format!("An umount would have been forced because devices do not match.  Watched: {}", self.device);
        found.changes.insert("umount", text);
        found.changes.insert("mount", true);
        Ok(found)
    }

    /// Options of the old entry that are no longer requested but still in effect. Salt keeps a cache for this.
    fn given_up(
        &self,
        machine: &dyn Probe,
        current: &ActiveMount,
        name: &str,
        table: Option<&FstabTable>,
        wanted: &[String],
        extra: &Extra,
    ) -> Vec<String> {
        let Some(old) = table.and_then(|table| table.lines().find(|line| line.name == name)) else { return Vec::new() };
        let gone = old.options.split(',').filter(|option| !wanted.iter().any(|request| request == option));
        let shown = |option: &&str| current.options.iter().chain(&current.super_options).any(|known| known == option);
        gone.filter(shown)
            // "rw" and "relatime" are defaults that remain anyway.
            .filter(|option| !matches!(*option, "rw" | "relatime"))
            .filter(|option| {
                options::missing(machine, current, &self.fstype, &[(*option).to_owned()], extra).is_empty()
            })
            .map(str::to_owned)
            .collect()
    }

    /// Handles a mount point without a mount.
    fn absent(&self, machine: &dyn Probe, name: &str) -> Finding {
        let there = look::exists(machine, name);
        let finding =
            |act, comment: String, would: String, only| Finding { act, comment, would, only, changes: Map::new() };
        if self.mount.0 {
            let would = match (there, self.mkmnt.0) {
                (true, _) => format!("{name} would be mounted"),
                (false, true) => format!("{name} would be created and mounted"),
                (false, false) => format!("{name} does not exist and would not be created"),
            };
            let mut found = finding(MountAction::Mount, "Target was successfully mounted".into(), would, true);
            found.changes.insert("mount", true);
            return found;
        }
        match (there, self.mkmnt.0) {
            (true, _) => finding(
                MountAction::Nothing,
                format!("{name} not mounted"),
                format!("{name} would not be mounted"),
                false,
            ),
            (false, true) => {
                let would = format!("{name} would be created, but not mounted");
                let mut found =
                    finding(MountAction::MakeDirectory, format!("{name} was created, not mounted"), would, false);
                found.changes.insert("mkmnt", name);
                found
            }
            (false, false) => finding(
                MountAction::Nothing,
                format!("{name} not present and not mounted"),
                format!("{name} does not exist and would neither be created nor mounted"),
                false,
            ),
        }
    }

    fn line(&self, name: &str) -> FstabLine {
        FstabLine {
            device: self.device.clone(),
            name: name.to_owned(),
            fstype: self.fstype.clone(),
            options: listed(&self.opts).join(","),
            dump: self.dump.to_string(),
            pass: self.pass_num.to_string(),
        }
    }

    /// The texts about the entry, for the run and the dry run.
    fn told(&self, change: FstabChange, name: &str) -> (&'static str, String) {
        let persistent = "needs to be written to the fstab in order to be made persistent.";
        match (change, self.mount.0) {
            (FstabChange::Present, _) => (". Entry already exists in the fstab.", String::new()),
            (FstabChange::New, true) => {
                (". Added new entry to the fstab.", format!("{name} is mounted, but {persistent}"))
            }
            (FstabChange::New, false) => (". Added new entry to the fstab.", format!("{name} {persistent}")),
            (FstabChange::Update, true) => (
                ". Updated the entry in the fstab.",
                format!("{name} is mounted, but its fstab entry must be updated."),
            ),
            (FstabChange::Update, false) => {
                (". Updated the entry in the fstab.", format!("The {name} fstab entry must be updated."))
            }
        }
    }

    fn act(&self, machine: &dyn System, name: &str, act: MountAction, changes: &mut Map) -> Result<()> {
        let options = listed(&self.opts);
        let user = self.user.as_deref();
        let request = MountRequest { name, device: Some(&self.device), fstype: &self.fstype, options: &options, user };
        let make = || match look::exists(machine, name) {
            true => Ok(()),
            false => tool::make_directories(machine, name, 0o755),
        };
        match act {
            MountAction::Nothing => Ok(()),
            MountAction::MakeDirectory => make(),
            MountAction::Mount => {
                make()?;
                mounting::run(machine, &request.mount())
            }
            MountAction::Remount => mounting::run(machine, &request.remount()),
            MountAction::Replace => {
                mounting::run(machine, &mounting::umount(name, false, user))?;
                mounting::run(machine, &request.mount())
            }
            MountAction::UnmountMount => {
                if mounting::run(machine, &mounting::umount(name, false, None)).is_err() {
                    mounting::run(machine, &mounting::umount(name, true, None))?;
                    if let Some(Value::String(text)) = changes.get_mut("umount") {
                        *text = text.replace(
                            "Forced unmount and mount because ",
                            "Forced a lazy unmount and mount because the previous unmount failed and because the ",
                        );
                    }
                }
                mounting::run(machine, &request.mount())
            }
        }
    }
}

impl Finding {
    /// A finding that the run and the dry run report in the same words.
    fn new(act: MountAction, comment: &str) -> Finding {
        Finding { act, comment: comment.to_owned(), would: comment.to_owned(), only: false, changes: Map::new() }
    }
}

/// Whether a mount shows the directory of the file system that contains the path.
fn shows(mounts: &[ActiveMount], current: &ActiveMount, path: &str) -> bool {
    // The mount itself may hide the path, so it is ignored here.
    let others: Vec<ActiveMount> = mounts.iter().filter(|mount| mount.id != current.id).cloned().collect();
    let Some(under) = active::above(&others, path) else { return false };
    let below = path.strip_prefix(under.point.trim_end_matches('/')).unwrap_or(path);
    let root = format!("{}{below}", under.root.trim_end_matches('/'));
    let root = if root.is_empty() { "/" } else { &root };
    under.number == current.number && current.root.trim_end_matches('/') == root.trim_end_matches('/')
}
