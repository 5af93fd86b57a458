//! `file.symlink`: a symbolic link.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::path::normal;
use super::super::stat::{group_name, user_name};
use super::missing_directories;
use super::permissions;
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::Result;
use crate::catalog::file::owner;
use crate::machine::{Probe, accounts};

/// Makes sure that a path is a link to another.
///
/// ```yaml
/// /usr/bin/vim:
///   file.symlink:
///     - target: /usr/bin/vim.basic
/// ```
#[state("file.symlink", required("target"))]
pub struct Symlink {
    /// The link's path.
    name: String,
    /// Where it leads.
    #[default]
    target: String,
    /// Replace a file that is in the way.
    force: Flag,
    /// Rename what is in the way: a path, or a name in the same directory.
    backupname: Option<String>,
    /// Create parent directories.
    makedirs: Flag,
    /// The link's owner; by default the agent's user.
    user: Value,
    /// Its group; by default the owner's primary group.
    group: Value,
    /// The mode of directories that are made.
    mode: Value,
    /// Replace a file in the way in one step.
    atomic: Flag,
    /// Accepted for compatibility with Salt: what is in the way is moved, or copied to another file system.
    #[allow(dead_code, reason = "moving falls back to copying where it must")]
    disallow_copy_and_unlink: Flag,
    /// A link that is there keeps its owners.
    inherit_user_and_group: Flag,
    /// Whether a link in the way that leads nowhere counts as nothing.
    #[default(true)]
    follow_symlinks: Flag,
}

impl State for Symlink {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// The owner of a link.
struct LinkOwners {
    user: Value,
    group: Value,
}

impl Symlink {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.symlink"));
        }
        let owners = self.owners(machine, &name);
        preflight(machine, &owners, &[&name])?;
        let would = self.dry(machine, &name, &owners);
        let above = look::above(&name);
        let mut plan = Plan::brief(Verdict::default());
        let (uid, gid) = permissions::numbers(machine, &owners.user, &owners.group);
        let mut note = String::new();
        if !look::is_directory(machine, above) {
            if self.makedirs.0 {
                note = format!("\n{above} will be created");
                let mode = permissions::mode(&self.mode).as_deref().and_then(permissions::bits);
                let mode = mode.unwrap_or(0o777 & !look::umask(machine));
                let make = |path| Action::MakeDirectory { path, mode, uid, gid };
                plan = plan.all(missing_directories(machine, above).into_iter().map(make));
            } else if step.test {
                note = format!("\nDirectory {above} for symlink is not present");
            } else {
                return Err(Verdict::bad(format!("Directory {above} for symlink is not present")));
            }
        }
        if step.test {
            return Ok(Decision::Settled(Verdict { comment: would.comment.clone() + &note, ..would }));
        }
        let shown = format!("{}:{}", owners.user, owners.group);
        let link = if look::is_link(machine, &name) { machine.read_link(Path::new(&name)).ok() } else { None };
        if let Some(old) = &link {
            if normal(old) == normal(Path::new(&self.target)) {
                return Ok(self.only_owners(machine, &name, &owners, &shown, would));
            }
        } else if self.is_there(machine, &name) {
            plan = plan.all(self.clear_way(machine, &name)?);
        }
        plan = plan.all(self.place(machine, &name));
        if !owns(machine, &name, &owners) || link.is_none() || uid != Some(accounts::own_uid(machine)) {
            let failure =
                format!("Created new symlink {name} -> {}, but was unable to set ownership to {shown}", self.target);
            plan = plan.then(Action::Owner { path: name.clone(), uid, gid, follow: false, failure });
        }
        let comment = format!("Created new symlink {name} -> {}", self.target);
        plan.done = Verdict::good(comment)
            .change("new", name.as_str())
            .output("path", name.as_str())
            .output("target", self.target.as_str());
        Ok(Decision::Change(plan.or("Unable to create new symlink: "), would))
    }

    fn owners(&self, machine: &dyn Probe, name: &str) -> LinkOwners {
        let (mut user, mut group) = (self.user.clone(), self.group.clone());
        if self.inherit_user_and_group.0
            && let Some(stat) = look::itself(machine, name).filter(|_| look::is_link(machine, name))
        {
            if user.is_null() {
                user = user_name(machine, stat.uid);
            }
            if group.is_null() {
                group = group_name(machine, stat.gid);
            }
        }
        default_owners(machine, user, group)
    }

    /// Whether the path exists, by Salt's rules.
    fn is_there(&self, machine: &dyn Probe, name: &str) -> bool {
        if self.follow_symlinks.0 { look::exists(machine, name) } else { look::exists_itself(machine, name) }
    }

    fn dry(&self, machine: &dyn Probe, name: &str, owners: &LinkOwners) -> Verdict {
        let target = &self.target;
        let is_link = look::is_link(machine, name);
        if !self.is_there(machine, name) && !is_link {
            return Verdict::would(format!("Symlink {name} to {target} is set for creation")).change("new", name);
        }
        if !is_link {
            return match self.force.0 {
                true => Verdict::would(format!(
                    "The file or directory {name} is set for removal to make way for a new symlink targeting {target}"
                )),
                false => Verdict::bad(format!(
                    "File or directory exists where the symlink {name} should be. Did you mean to use force?"
                )),
            };
        }
        let old = machine.read_link(Path::new(name)).unwrap_or_default();
        if old.to_string_lossy() != target.as_str() {
            let text = format!("Link {name} target is set to be changed to {target}");
            return Verdict::would(text).change("change", name);
        }
        let present = format!("The symlink {name} is present");
        if owns(machine, name, owners) {
            return Verdict::good(present);
        }
        let now = owners_of(machine, name);
        let LinkOwners { user, group } = owners;
        Verdict::would(format!(
            "{present}, but the ownership of the symlink would be changed from {now} to {user}:{group}"
        ))
        .change("ownership", now)
    }

    fn only_owners(
        &self,
        machine: &dyn Probe,
        name: &str,
        owners: &LinkOwners,
        shown: &str,
        would: Verdict,
    ) -> Decision {
        let finished = |verdict: Verdict| verdict.output("path", name).output("target", self.target.as_str());
        if owns(machine, name, owners) {
            let text = format!("Symlink {name} is present and owned by {shown}");
            return Decision::Settled(finished(Verdict::good(text)));
        }
        let (uid, gid) = permissions::numbers(machine, &owners.user, &owners.group);
        let failure = format!("Failed to set ownership of symlink {name} to {shown}");
        let action = Action::Owner { path: name.to_owned(), uid, gid, follow: false, failure };
        let text = format!("Set ownership of symlink {name} to {shown}");
        Decision::Change(Plan::brief(finished(Verdict::good(text).change("ownership", shown))).then(action), would)
    }

    /// Removes or backs up another type of file in place of the link.
    fn clear_way(&self, machine: &dyn Probe, name: &str) -> Result<Vec<Action>, Verdict> {
        let Some(backup) = &self.backupname else {
            if self.force.0 || self.atomic.0 {
                return Ok(Vec::new());
            }
            let what = match () {
                () if look::is_file(machine, name) => "File",
                () if look::is_directory(machine, name) => "Directory",
                () => "File system entry",
            };
            return Err(Verdict::bad(format!("{what} exists where the symlink {name} should be")));
        };
        let backup = match () {
            () if look::is_absolute(backup) => backup.clone(),
            () if !backup.contains('/') => look::join(look::above(name), backup),
            () => {
                let text = format!("Backupname must be an absolute path or a file name: {backup}");
                return Err(Verdict::bad(text));
            }
        };
        let mut actions = Vec::new();
        if look::exists_itself(machine, &backup) {
            if !self.force {
                return Err(Verdict::bad(format!(
                    "Symlink & backup dest exists and Force not set. {name} -> {} - backup: {backup}",
                    self.target
                )));
            }
            actions.push(Action::Remove(backup.clone()));
        }
        actions.push(Action::Rename { from: name.to_owned(), to: backup });
        Ok(actions)
    }

    /// Made under a temporary name and renamed, so that the path always exists.
    fn place(&self, machine: &dyn Probe, name: &str) -> Vec<Action> {
        let target = self.target.clone();
        if !look::exists_itself(machine, name) || self.backupname.is_some() && !look::is_link(machine, name) {
            return vec![Action::Symlink { target, link: name.to_owned() }];
        }
        if look::is_directory(machine, name) && !look::is_link(machine, name) {
            // As in Salt, `force` doesn't replace a directory.
            let text = format!("Unable to create new symlink {name} -> {target}: [Errno 21] Is a directory: '{name}'");
            return vec![Action::Stop(text)];
        }
        let beside = format!("{name}.{}.new", std::process::id());
        vec![Action::Symlink { target, link: beside.clone() }, Action::Rename { from: beside, to: name.to_owned() }]
    }
}

/// The agent's own user if none is named, and a user's own group.
fn default_owners(machine: &dyn Probe, user: Value, group: Value) -> LinkOwners {
    let user = match user.is_null() {
        true => user_name(machine, accounts::own_uid(machine)),
        false => user,
    };
    let group = match group.is_null() {
        true => accounts::user(machine, &user.to_string()).map_or(Value::Int(0), |user| group_name(machine, user.gid)),
        false => group,
    };
    let group = if group == Value::Int(0) { group_name(machine, 0) } else { group };
    LinkOwners { user, group }
}

/// As [`default_owners`], for use in other states.
pub fn owners_or_default(machine: &dyn Probe, user: &Value, group: &Value) -> (Value, Value) {
    let owners = default_owners(machine, user.clone(), group.clone());
    (owners.user, owners.group)
}

fn preflight(machine: &dyn Probe, owners: &LinkOwners, paths: &[&str]) -> Result<(), Verdict> {
    let faults = preflight_faults(machine, &owners.user, &owners.group);
    let relative = paths.iter().filter(|path| !look::is_absolute(path));
    let faults: Vec<String> = faults
        .into_iter()
        .chain(relative.map(|path| format!("Specified file {path} is not an absolute path")))
        .collect();
    joined(&faults)
}

/// Salt's texts for unknown owners.
pub fn preflight_faults(machine: &dyn Probe, user: &Value, group: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if owner::uid(machine, user).is_none() {
        faults.push(format!("User {user} does not exist"));
    }
    if owner::gid(machine, group).is_none() {
        faults.push(format!("Group {group} does not exist"));
    }
    faults
}

/// All faults as one verdict.
pub fn joined(faults: &[String]) -> Result<(), Verdict> {
    match faults {
        [] => Ok(()),
        [one] => Err(Verdict::bad(one.as_str())),
        several => Err(Verdict::bad(format!("{}.", several.join(". ")))),
    }
}

fn owners_of(machine: &dyn Probe, name: &str) -> String {
    look::itself(machine, name)
        .map(|stat| format!("{}:{}", user_name(machine, stat.uid), group_name(machine, stat.gid)))
        .unwrap_or_default()
}

fn owns(machine: &dyn Probe, name: &str, owners: &LinkOwners) -> bool {
    look::itself(machine, name).is_some_and(|stat| {
        user_name(machine, stat.uid) == owners.user && group_name(machine, stat.gid) == owners.group
    })
}
