//! `file.copy`: a copy of a file of this machine.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::stat::{group_name, user_name};
use super::missing_directories;
use super::permissions::{self, PermissionsSpec};
use super::symlink::owners_or_default;
use super::{Action, Decision, Flag, Plan, State, Step, Thing, Touches, Verdict, look, walk, writes};
use crate::Result;
use crate::machine::Probe;

/// Copies a file or directory of this machine, if there is nothing at its place yet.
///
/// ```yaml
/// /etc/example.conf:
///   file.copy:
///     - source: /tmp/example.conf
/// ```
#[state("file.copy", required("source"))]
pub struct Copy {
    /// The copy's path.
    name: String,
    /// What is copied.
    #[default]
    source: String,
    /// Replace what is there already, every time.
    force: Flag,
    /// Create parent directories.
    makedirs: Flag,
    /// Keep owner, group and mode.
    preserve: Flag,
    /// Its owner; by default the agent's user.
    user: Value,
    /// Its group; by default the owner's primary group.
    group: Value,
    /// Its mode; by default that of the source.
    mode: Value,
    /// The mode of directories that are made.
    dir_mode: Value,
    /// Copy into a directory that is there.
    subdir: Flag,
}

impl State for Copy {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(self.decide(machine, step).unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        writes(&self.name).reads(Thing::Path(self.source.clone()))
    }
}

impl Copy {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision, Verdict> {
        let (mut name, source) = (look::name(machine, &self.name), look::name(machine, &self.source));
        if name.is_empty() {
            return Err(Verdict::bad("Must provide name to file.copy"));
        }
        if !look::is_absolute(&name) {
            return Err(Verdict::bad(format!("Specified file {name} is not an absolute path")));
        }
        let Some(stat) = look::found(machine, &source) else {
            return Err(Verdict::bad(format!("Source file \"{source}\" is not present")));
        };
        let mut comment = format!("Copied \"{source}\" to \"{name}\"");
        let own_mode = format!("{:04o}", stat.mode);
        let request = match self.preserve.0 {
            true => PermissionsSpec {
                user: user_name(machine, stat.uid),
                group: group_name(machine, stat.gid),
                mode: Some(own_mode),
                ..PermissionsSpec::default()
            },
            false => {
                let (user, group) = owners_or_default(machine, &self.user, &self.group);
                if let Some(fault) = permissions::check_owners(machine, &user, &group, step.test) {
                    return Err(Verdict::bad(fault));
                }
                PermissionsSpec {
                    user,
                    group,
                    mode: permissions::mode(&self.mode).or(Some(own_mode)),
                    ..PermissionsSpec::default()
                }
            }
        };
        if self.subdir.0 && look::is_directory(machine, &name) {
            name = look::join(&name, look::last_part(&source));
        }
        let mut plan = Plan::brief(Verdict::default()).or("Failed to copy: ");
        if look::exists_itself(machine, &name) {
            if !self.force {
                let text = format!("The target file \"{name}\" exists and will not be overwritten");
                return Err(Verdict::good(text).output("path", name));
            }
            let read = |path: &str| machine.read(std::path::Path::new(path)).ok();
            if look::is_file(machine, &name) && read(&name) == read(&source) {
                comment.push_str(" - files are identical but force flag is set");
            }
            plan = plan.then(Action::Remove(name.clone()));
        }
        let would = Verdict::would(format!("File \"{source}\" is set to be copied to \"{name}\""));
        if step.test {
            return Ok(Decision::Change(plan, would));
        }
        plan = plan.all(self.directories(machine, &name, &request)?);
        plan = plan.then(Action::Copy { from: source.clone(), to: name.clone() });
        plan = plan.all(owners(machine, &source, &name, &request)?);
        let mut done = Verdict::good(comment).change(name.as_str(), source.as_str()).output("path", name.as_str());
        if !self.preserve {
            done.changes.extend(self.shown(machine, &request, stat.mode));
        }
        plan.done = done;
        Ok(Decision::Change(plan, would))
    }

    fn directories(&self, machine: &dyn Probe, name: &str, request: &PermissionsSpec) -> Result<Vec<Action>, Verdict> {
        let above = look::above(name);
        if look::is_directory(machine, above) {
            return Ok(Vec::new());
        }
        if !self.makedirs {
            return Err(Verdict::bad(format!("The target directory {above} is not present")));
        }
        let enter = |bits: u32| {
            [6, 3, 0].iter().fold(0, |all, shift| match bits >> shift & 7 {
                0 => all,
                digit => all | (digit | 1) << shift,
            })
        };
        let own = request.mode.as_deref().and_then(permissions::bits).map(enter);
        let mode = permissions::mode(&self.dir_mode).as_deref().and_then(permissions::bits).or(own);
        let mode = mode.unwrap_or(0o777 & !look::umask(machine));
        let (uid, gid) = permissions::numbers(machine, &request.user, &request.group);
        let make = |path| Action::MakeDirectory { path, mode, uid, gid };
        Ok(missing_directories(machine, above).into_iter().map(make).collect())
    }

    /// Further changes that Salt reports: where the copy differs from a plain one.
    fn shown(&self, machine: &dyn Probe, request: &PermissionsSpec, mode: u32) -> rocksalt_core::Map {
        let mut changes = rocksalt_core::Map::new();
        let (own_user, own_group) = owners_or_default(machine, &Value::Null, &Value::Null);
        if request.user != own_user {
            changes.insert("user", request.user.clone());
        }
        if request.group != own_group {
            changes.insert("group", request.group.clone());
        }
        if let Some(wanted) = request.mode.as_ref().filter(|wanted| **wanted != format!("{mode:04o}")) {
            changes.insert("mode", wanted.as_str());
        }
        changes
    }
}

/// The owner and mode of the copy, and the owner of everything in it.
fn owners(machine: &dyn Probe, source: &str, name: &str, request: &PermissionsSpec) -> Result<Vec<Action>, Verdict> {
    let (uid, gid) = permissions::numbers(machine, &request.user, &request.group);
    let mut paths = vec![name.to_owned()];
    let levels = walk::levels(machine, source, None).map_err(|error| Verdict::bad(error.to_string()))?;
    for level in levels {
        let below = level.path.strip_prefix(source).unwrap_or_default().trim_start_matches('/').to_owned();
        let directory = if below.is_empty() { name.to_owned() } else { look::join(name, &below) };
        let names = level.directories.iter().chain(&level.files);
        paths.extend(names.map(|name| look::join(&directory, name)));
    }
    let owner = |path: String| {
        let failure = format!("Failed to change user to {}", request.user);
        Action::Owner { path, uid, gid, follow: false, failure }
    };
    let mut actions: Vec<Action> = paths.into_iter().map(owner).collect();
    if let Some(mode) = request.mode.as_deref().and_then(permissions::bits) {
        let failure = format!("Failed to change mode to {mode:04o}");
        actions.push(Action::Mode { path: name.to_owned(), mode, failure });
    }
    Ok(actions)
}
