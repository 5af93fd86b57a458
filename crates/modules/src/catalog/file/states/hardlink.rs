//! `file.hardlink`: a hard link to a file.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::missing_directories;
use super::permissions;
use super::symlink::{joined, owners_or_default, preflight_faults};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::machine::Probe;

/// Makes sure that a path is a second name of a file.
///
/// ```yaml
/// /srv/www/index.html:
///   file.hardlink:
///     - target: /srv/pages/start.html
/// ```
#[state("file.hardlink", required("target"))]
pub struct Hardlink {
    /// The second name.
    name: String,
    /// The file.
    #[default]
    target: String,
    /// Replace a file that is in the way.
    force: Flag,
    /// Create parent directories.
    makedirs: Flag,
    /// The user that new directories belong to.
    user: Value,
    /// The group that they belong to.
    group: Value,
    /// Their mode.
    dir_mode: Value,
}

impl State for Hardlink {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name).reads(super::Thing::Path(self.target.clone()))
    }
}

impl Hardlink {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let (name, target) = (look::name(machine, &self.name), self.target.as_str());
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.hardlink"));
        }
        let (user, group) = owners_or_default(machine, &self.user, &self.group);
        let mut faults = preflight_faults(machine, &user, &group);
        for (what, path) in [("file", name.as_str()), ("target", target)] {
            if !look::is_absolute(path) {
                faults.push(format!("Specified {what} {path} is not an absolute path"));
            }
        }
        joined(&faults)?;
        if step.test {
            return Ok(Decision::Settled(self.dry(machine, &name)));
        }
        for (direction, path) in [("to", name.as_str()), ("from", target)] {
            if look::is_directory(machine, path) {
                return Err(Verdict::bad(format!("Unable to hard link {direction} directory {path}")));
            }
        }
        if !look::exists(machine, target) {
            return Err(Verdict::bad(format!("Target {target} for hard link does not exist")));
        }
        let mut plan = Plan::brief(Verdict::default()).or("Unable to create new hard link: ");
        let above = look::above(&name);
        if !look::is_directory(machine, above) {
            if !self.makedirs {
                return Err(Verdict::bad(format!("Directory {above} for hard link is not present")));
            }
            let (uid, gid) = permissions::numbers(machine, &user, &group);
            let mode = permissions::mode(&self.dir_mode).as_deref().and_then(permissions::bits);
            let mode = mode.unwrap_or(0o777 & !look::umask(machine));
            let make = |path| Action::MakeDirectory { path, mode, uid, gid };
            plan = plan.all(missing_directories(machine, above).into_iter().map(make));
        }
        let mut done = Verdict::good(format!("Created new hard link {name} -> {target}"));
        if is_hard_link(machine, &name) {
            if same(machine, &name, target) {
                let text = format!("Target of hard link {name} is already pointing to {target}");
                return Err(Verdict::good(text).output("path", name));
            }
            plan = plan.then(Action::Remove(name.clone()));
            done = Verdict::good(format!("Set target of hard link {name} -> {target}"));
        } else if look::is_file(machine, &name) {
            if !self.force {
                return Err(Verdict::bad(format!("File exists where the hard link {name} should be")));
            }
            plan = plan.then(Action::Remove(name.clone()));
            done = done.change("forced", "File for hard link was forcibly replaced");
        }
        plan.done = done.change("new", name.as_str()).output("path", name.as_str());
        let would = self.dry(machine, &name);
        Ok(Decision::Change(plan.then(Action::HardLink { existing: target.to_owned(), link: name }), would))
    }

    fn dry(&self, machine: &dyn Probe, name: &str) -> Verdict {
        let target = &self.target;
        match () {
            () if !look::exists(machine, target) => {
                Verdict::bad(format!("Target {target} for hard link does not exist"))
            }
            () if look::is_directory(machine, target) => {
                Verdict::bad(format!("Unable to hard link from directory {target}"))
            }
            () if look::is_directory(machine, name) => Verdict::bad(format!("Unable to hard link to directory {name}")),
            () if !look::exists(machine, name) => {
                Verdict::would(format!("Hard link {name} to {target} is set for creation")).change("new", name)
            }
            () if is_hard_link(machine, name) && same(machine, name, target) => {
                Verdict::good(format!("The hard link {name} is presently targetting {target}"))
            }
            () if is_hard_link(machine, name) => {
                Verdict::would(format!("Link {name} target is set to be changed to {target}")).change("change", name)
            }
            () if self.force.0 => Verdict::would(format!(
                "The file or directory {name} is set for removal to make way for a new hard link targeting {target}"
            )),
            () => Verdict::bad(format!(
                "File or directory exists where the hard link {name} should be. Did you mean to use force?"
            )),
        }
    }
}

fn is_hard_link(machine: &dyn Probe, path: &str) -> bool {
    look::itself(machine, path).is_some_and(|stat| stat.links > 1)
}

fn same(machine: &dyn Probe, path: &str, other: &str) -> bool {
    let id = |path: &str| look::itself(machine, path).map(|stat| (stat.device, stat.inode));
    id(path).is_some() && id(path) == id(other)
}
