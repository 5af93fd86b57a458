//! `group.present`: a group exists, with the requested id and members.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::tools;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::user::defaults::Defaults;
use crate::catalog::user::tool::{self, check_name, texts};
use crate::catalog::user::{account_files, promised};
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::accounts::{self, Group};
use crate::machine::{Probe, System};

/// Makes sure that there is a group, with its number and members.
///
/// ```yaml
/// deploy:
///   group.present:
///     - gid: 7648
///     - addusers:
///       - alice
/// ```
#[state("group.present", strict)]
pub struct Present {
    /// The name.
    name: String,
    /// Its number; else the next free one.
    gid: Value,
    /// Take a number of those for the system's own groups.
    system: Flag,
    /// Users that are in it, besides others.
    addusers: Option<Vec<String>>,
    /// Users that are not in it.
    delusers: Option<Vec<String>>,
    /// The users that are in it, and no others.
    members: Option<Vec<String>>,
    /// Whether another group may have the same gid.
    non_unique: Flag,
    /// Not supported: libuser's tools.
    local: Value,
}

#[derive(Serialize, Deserialize)]
pub enum GroupPlan {
    Make,
    Change(GroupDifference),
}

/// The changes to make.
#[derive(Default, Serialize, Deserialize)]
pub struct GroupDifference {
    gid: Option<u32>,
    members: Option<Vec<String>>,
    addusers: Vec<String>,
    delusers: Vec<String>,
    /// `delusers` contains all members, which Salt prints as a set.
    all: bool,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        check_name("group", &self.name)?;
        tool::refuse(&[("local", &self.local)])?;
        self.users().try_for_each(|name| check_name("user", name))?;
        if self.members.is_some() && (self.addusers.is_some() || self.delusers.is_some()) {
            // Salt returns neither success nor failure here; this is a failure.
            return Ok(Decision::Settled(Verdict::bad(
                "Error: Conflicting options \"members\" with \"addusers\" and/or \"delusers\" can not be used together. ",
            )));
        }
        let both = self.delusers.iter().flatten().any(|user| self.addusers.iter().flatten().any(|other| other == user));
        if both {
            return Ok(Decision::Settled(Verdict::bad(
                "Error. Same user(s) can not be added and deleted simultaneously",
            )));
        }
        let Some(gid) = self.number() else { return Ok(Decision::Settled(Verdict::bad("Invalid gid"))) };
        let name = &self.name;
        let Some(group) = tools::find(machine, name) else { return self.make(machine, step, gid).into_plan() };
        let difference = self.differences(&group, gid);
        let shown = difference.shown();
        if shown.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("Group {name} is present and up to date"))));
        }
        let would = Verdict::would(set_to_be_changed(&shown)).changes(applied());
        Decision::own(&GroupPlan::Change(difference), would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: GroupPlan = plan.into_own()?;
        let name = &self.name;
        let gid = self.number().unwrap_or_default();
        let left = |machine: &dyn Probe| {
            tools::find(machine, name).map(|group| self.differences(&group, gid).shown()).unwrap_or_default()
        };
        let failed = |comment: String, left: Map, faults: &[String]| {
            let comment = std::iter::once(&comment).chain(faults).map(String::as_str).collect::<Vec<_>>().join("\n");
            Ok(Verdict::bad(comment).change("Failed", left))
        };
        match plan {
            GroupPlan::Make => {
                if let Err(text) = tools::add(machine, name, gid, self.system.0, self.non_unique.0) {
                    return Ok(Verdict::bad(format!("Failed to create new group {name}\n{text}")));
                }
                let users: Vec<String> = self.new_members().cloned().collect();
                let fault = (!users.is_empty()).then(|| tools::set_members(machine, name, &users).err()).flatten();
                let left = left(machine);
                if !left.is_empty() || fault.is_some() {
                    let text = format!("Group {name} has been created but, some changes could not be applied");
                    return failed(text, left, &fault.into_iter().collect::<Vec<_>>());
                }
                let info = tools::find(machine, name).map(|group| tools::info(&group)).unwrap_or_default();
                Ok(Verdict::good(format!("New group {name} created")).changes(info))
            }
            GroupPlan::Change(difference) => {
                let comment = set_to_be_changed(&difference.shown());
                let faults = difference.carry_out(machine, name, self.non_unique.0);
                let left = left(machine);
                if !left.is_empty() || !faults.is_empty() {
                    return failed(format!("{comment}Some changes could not be applied"), left, &faults);
                }
                Ok(Verdict::good(comment).changes(applied()))
            }
        }
    }

    fn touches(&self) -> Touches {
        let touches = account_files().writes(Thing::Group(self.name.clone()));
        self.users().fold(touches, |touches, user| touches.reads(Thing::User(user.clone())))
    }
}

impl Present {
    fn users(&self) -> impl Iterator<Item = &String> {
        self.addusers.iter().chain(&self.delusers).chain(&self.members).flatten()
    }

    /// The members of a new group.
    fn new_members(&self) -> impl Iterator<Item = &String> {
        self.members.iter().chain(&self.addusers).flatten()
    }

    /// The requested id, if any; the inner `None` if it is invalid.
    fn number(&self) -> Option<Option<u32>> {
        if !self.gid.truth() {
            return Some(None);
        }
        self.gid.to_string().parse().ok().map(Some)
    }

    fn make(&self, machine: &dyn Probe, step: &Step<'_>, gid: Option<u32>) -> Decision<GroupPlan> {
        let name = &self.name;
        let taken = accounts::groups(machine).into_iter().find(|group| Some(group.gid) == gid);
        if let (Some(gid), Some(group)) = (gid, taken.filter(|_| !self.non_unique)) {
            return Decision::Settled(Verdict::bad(format!(
                "Group {name} is not present but gid {gid} is already taken by group {}",
                group.name
            )));
        }
        let mut would = Verdict::would(format!("Group {name} set to be added"));
        if let Some(gid) = gid.or_else(|| Defaults::read(machine).next_gid(machine, self.system.0, None)) {
            let members = self.new_members().cloned().collect();
            would.changes = tools::info(&Group { name: name.clone(), gid, members });
            if step.test {
                promised::promise_group(machine, name, gid);
            }
        }
        Decision::Change(GroupPlan::Make, would)
    }

    fn differences(&self, group: &Group, gid: Option<u32>) -> GroupDifference {
        let mut difference = GroupDifference { gid: gid.filter(|gid| *gid != group.gid), ..GroupDifference::default() };
        if let Some(wanted) = &self.members {
            let same = wanted.iter().all(|user| group.members.contains(user))
                && group.members.iter().all(|user| wanted.contains(user));
            match (same, wanted.is_empty()) {
                (true, _) => {}
                (false, true) => (difference.delusers, difference.all) = (group.members.clone(), true),
                (false, false) => difference.members = Some(wanted.clone()),
            }
        }
        let add = self.addusers.iter().flatten().filter(|user| !group.members.contains(user));
        difference.addusers = add.cloned().collect();
        let remove = self.delusers.iter().flatten().filter(|user| group.members.contains(user));
        difference.delusers.extend(remove.cloned());
        difference
    }
}

impl GroupDifference {
    fn shown(&self) -> Map {
        let mut shown = Map::new();
        if let Some(gid) = self.gid {
            shown.insert("gid", gid);
        }
        if self.all {
            let mut names: Vec<String> = self.delusers.iter().map(|name| format!("'{name}'")).collect();
            names.sort();
            shown.insert("delusers", format!("{{{}}}", names.join(", ")));
        }
        if let Some(members) = &self.members {
            shown.insert("members", texts(members.iter().cloned()));
        }
        if !self.addusers.is_empty() {
            shown.insert("addusers", texts(self.addusers.iter().cloned()));
        }
        if !self.delusers.is_empty() && !self.all {
            shown.insert("delusers", texts(self.delusers.iter().cloned()));
        }
        shown
    }

    /// Carries out all changes that it can, and reports the failures.
    fn carry_out(&self, machine: &dyn System, name: &str, non_unique: bool) -> Vec<String> {
        let mut done = Vec::new();
        done.extend(self.gid.map(|gid| tools::change_gid(machine, name, gid, non_unique)));
        done.extend(self.members.as_ref().map(|users| tools::set_members(machine, name, users)));
        done.extend(self.addusers.iter().map(|user| tools::add_member(machine, name, user)));
        done.extend(self.delusers.iter().map(|user| tools::remove_member(machine, name, user)));
        done.into_iter().filter_map(std::result::Result::err).collect()
    }
}

fn set_to_be_changed(shown: &Map) -> String {
    let lines = shown.iter().map(|(key, value)| format!("{key}: {value}\n"));
    std::iter::once("The following group attributes are set to be changed:\n".to_owned()).chain(lines).collect()
}

/// Salt's message for a success.
fn applied() -> Map {
    Map::from_iter([("Final".into(), "All changes applied successfully".into())])
}
