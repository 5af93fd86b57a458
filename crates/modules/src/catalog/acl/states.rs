//! `acl`'s states: entries that are present in, or absent from, the access list of a path.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::list::{self, Acl, AclEntry, EntrySelector};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::user::tool;
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::{FileKind, Probe, System};

/// Makes sure that a user or group has an entry in the access list of a path.
///
/// ```yaml
/// /srv/data:
///   acl.present:
///     - acl_type: user
///     - acl_name: alice
///     - perms: rwx
/// ```
#[state("acl.present", strict, required("acl_type"))]
pub struct Present {
    /// The path.
    name: String,
    /// `user`, `group`, `mask`, `other`; with `default:` before it what new files get.
    acl_type: String,
    /// Whose entry it is; else the owner's.
    #[default]
    acl_name: String,
    /// The permissions: `rwx`.
    #[default]
    perms: String,
    /// Include everything below it.
    recurse: Flag,
    /// Remove all other entries before.
    force: Flag,
}

/// Makes sure that several have entries in the access list of a path.
///
/// ```yaml
/// /srv/data:
///   acl.list_present:
///     - acl_type: user
///     - acl_names:
///       - alice
///       - bob
///     - perms: rx
/// ```
#[state("acl.list_present", strict, required("acl_type"))]
pub struct ListPresent {
    /// The path.
    name: String,
    /// `user` or `group`; with `default:` before it what new files get.
    acl_type: String,
    /// Whose entries they are.
    acl_names: Vec<String>,
    /// The permissions: `rwx`.
    #[default]
    perms: String,
    /// Include everything below it.
    recurse: Flag,
    /// Remove all other entries before.
    force: Flag,
}

/// Makes sure that a user or group has no entry in the access list of a path.
///
/// ```yaml
/// /srv/data:
///   acl.absent:
///     - acl_type: user
///     - acl_name: bob
/// ```
#[state("acl.absent", strict, required("acl_type"))]
pub struct Absent {
    /// The path.
    name: String,
    /// `user`, `group` …; with `default:` before it what new files get.
    acl_type: String,
    /// The user or group of the entry.
    #[default]
    acl_name: String,
    /// Taken and ignored, as in Salt.
    #[allow(dead_code, reason = "an entry goes as a whole")]
    perms: Option<String>,
    /// Include everything below it.
    recurse: Flag,
}

/// Makes sure that several have no entries in the access list of a path.
///
/// ```yaml
/// /srv/data:
///   acl.list_absent:
///     - acl_type: user
///     - acl_names:
///       - bob
///       - eve
/// ```
#[state("acl.list_absent", strict, required("acl_type"))]
pub struct ListAbsent {
    /// The path.
    name: String,
    /// `user` or `group`; with `default:` before it what new files get.
    acl_type: String,
    /// Whose entries they are.
    acl_names: Vec<String>,
    /// Include everything below it.
    recurse: Flag,
}

/// The change to a path's list.
#[derive(Serialize, Deserialize)]
pub struct AclPlan {
    wanted: EntrySelector,
    names: Vec<String>,
    /// The permissions to set; `None` removes the entries.
    perms: Option<String>,
    wipe: bool,
    done: Verdict,
    failure: String,
}

/// The arguments that all four states share.
struct AclRequest<'a> {
    path: &'a str,
    acl_type: &'a str,
    names: &'a [String],
    recurse: bool,
}

impl AclRequest<'_> {
    /// Reads the lists; a verdict if the path doesn't exist.
    fn look(&self, machine: &dyn Probe, test: bool) -> Result<Result<(EntrySelector, Vec<Acl>), Verdict>> {
        self.names.iter().try_for_each(|name| list::check_word("acl_name", name))?;
        let path = Path::new(self.path);
        if !matches!(machine.stat(path, true), Ok(Some(_))) {
            let text = format!("{} does not exist", self.path);
            // In a dry run an earlier step may create it.
            return Ok(Err(if test { Verdict::would(text) } else { Verdict::bad(text) }));
        }
        let Some(wanted) = EntrySelector::parse(self.acl_type) else {
            return Ok(Err(Verdict::bad("ACL Type does not exist")));
        };
        if test && !tool::is_there(machine, "getfacl") {
            return Ok(Err(Verdict::would("Command 'getfacl' cannot be found")));
        }
        let lists = Acl::read(machine, &[self.path.to_owned()], self.recurse)?;
        let exists = lists.first().is_some_and(|list| wanted.default || list.of(&wanted).next().is_some());
        Ok(if exists { Ok((wanted, lists)) } else { Err(Verdict::bad("ACL Type does not exist")) })
    }

    /// Finds the entry of a name; an empty name is the owner.
    fn entry<'a>(&self, list: &'a Acl, wanted: &EntrySelector, name: &str) -> Option<&'a AclEntry> {
        let owner = match wanted.kind.as_str() {
            "user" => list.remark("owner"),
            "group" => list.remark("group"),
            _ => "",
        };
        let name = if name.is_empty() { owner } else { name };
        let found = list.of(wanted).filter(|entry| entry.name == name);
        // The owner's own entry comes first; there may be another one for a user of that name.
        found.last()
    }

    fn present(
        &self,
        machine: &dyn Probe,
        test: bool,
        perms: &str,
        force: bool,
        single: bool,
    ) -> Result<Decision<AclPlan>> {
        list::check_word("perms", perms)?;
        let Some(octal) = list::octal(perms) else {
            return Err(crate::Error::arguments(format!("perms: '{perms}' has other letters than r, w and x")));
        };
        let (wanted, lists) = match self.look(machine, test)? {
            Ok(found) => found,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let fits = |list: &Acl, name: &str| {
            let Some(entry) = self.entry(list, &wanted, name) else { return false };
            entry.octal == octal || perms.ends_with('X') && entry.octal == octal & !1
        };
        // Only directories have default entries.
        let counts = |list: &&Acl| !wanted.default || is_directory(machine, &list.path);
        let good = |name: &String| lists.iter().filter(counts).all(|list| fits(list, name));
        if self.names.iter().all(good) {
            return Ok(Decision::Settled(Verdict::good("Permissions are in the desired state")));
        }
        let old: Vec<Option<&AclEntry>> =
            self.names.iter().map(|name| lists.first().and_then(|list| self.entry(list, &wanted, name))).collect();
        let shown = list_of(self.names);
        let joined = self.names.join(", ");
        let whom = if single { &joined } else { &shown };
        let fields = |perms: Value| {
            Value::Map(Map::from_iter([
                ("acl_name".into(), joined.as_str().into()),
                ("acl_type".into(), self.acl_type.into()),
                ("perms".into(), perms),
            ]))
        };
        let different = old.iter().flatten().find(|entry| entry.octal != octal).or_else(|| old.iter().flatten().next());
        let (would, done, changes) = match different.filter(|_| old.iter().all(Option::is_some)) {
            Some(entry) => {
                // Salt reports letters for one name, and numbers for several.
                let was = if single { list::letters(entry.octal) } else { entry.octal.to_string() };
                let new = if single { perms.into() } else { octal.into() };
                (
                    format!("Updated permissions will be applied for {whom}: {was} -> {perms}"),
                    format!("Updated permissions for {whom}"),
                    Map::from_iter([("new".into(), fields(new)), ("old".into(), fields(was.into()))]),
                )
            }
            None => (
                format!("New permissions will be applied for {whom}: {perms}"),
                format!("Applied new permissions for {joined}"),
                Map::from_iter([("new".into(), fields(perms.into()))]),
            ),
        };
        let plan = AclPlan {
            wanted,
            names: self.names.to_vec(),
            perms: Some(perms.to_owned()),
            wipe: force,
            done: Verdict::good(done).changes(changes.clone()),
            failure: format!("Error updating permissions for {whom}: "),
        };
        Ok(Decision::Change(plan, Verdict::would(would).changes(changes)))
    }

    fn absent(&self, machine: &dyn Probe, test: bool) -> Result<Decision<AclPlan>> {
        let (wanted, lists) = match self.look(machine, test)? {
            Ok(found) => found,
            Err(verdict) => return Ok(Decision::Settled(verdict)),
        };
        let has = |name: &&String| lists.iter().any(|list| self.entry(list, &wanted, name).is_some());
        let names: Vec<String> = self.names.iter().filter(has).cloned().collect();
        if names.is_empty() {
            return Ok(Decision::Settled(Verdict::good("Permissions are in the desired state")));
        }
        let perms = names.iter().find_map(|name| lists.iter().find_map(|list| self.entry(list, &wanted, name)));
        let old = Map::from_iter([
            ("acl_name".into(), names.join(", ").into()),
            ("acl_type".into(), self.acl_type.into()),
            ("perms".into(), perms.map(|entry| list::letters(entry.octal)).into()),
        ]);
        let changes = Map::from_iter([("old".into(), Value::Map(old))]);
        let done = Verdict::good("Removing permissions").changes(changes.clone());
        let failure = format!("Error removing permissions for {}: ", names.join(", "));
        let plan = AclPlan { wanted, names, perms: None, wipe: false, done, failure };
        Ok(Decision::Change(plan, Verdict::would("Removing permissions").changes(changes)))
    }
}

impl AclPlan {
    fn carry_out(self, machine: &dyn System, path: &str, recurse: bool) -> Verdict {
        let paths = [path.to_owned()];
        let wiped = if self.wipe { list::wipe(machine, &paths, recurse) } else { Ok(()) };
        let done = wiped.and_then(|()| {
            self.names.iter().try_for_each(|name| match &self.perms {
                Some(perms) => list::set(machine, &self.wanted, name, perms, &paths, recurse),
                None => list::remove(machine, &self.wanted, name, &paths, recurse),
            })
        });
        match done {
            Ok(()) => self.done,
            Err(text) => Verdict::bad(format!("{}{text}", self.failure)),
        }
    }
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let request = AclRequest {
            path: &self.name,
            acl_type: &self.acl_type,
            names: std::slice::from_ref(&self.acl_name),
            recurse: self.recurse.0,
        };
        request.present(machine, step.test, &self.perms, self.force.0, true)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        carry_out(plan, machine, &self.name, self.recurse.0)
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl State for ListPresent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let request =
            AclRequest { path: &self.name, acl_type: &self.acl_type, names: &self.acl_names, recurse: self.recurse.0 };
        request.present(machine, step.test, &self.perms, self.force.0, false)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        carry_out(plan, machine, &self.name, self.recurse.0)
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let request = AclRequest {
            path: &self.name,
            acl_type: &self.acl_type,
            names: std::slice::from_ref(&self.acl_name),
            recurse: self.recurse.0,
        };
        request.absent(machine, step.test)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        carry_out(plan, machine, &self.name, self.recurse.0)
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl State for ListAbsent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let request =
            AclRequest { path: &self.name, acl_type: &self.acl_type, names: &self.acl_names, recurse: self.recurse.0 };
        request.absent(machine, step.test)?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        carry_out(plan, machine, &self.name, self.recurse.0)
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

fn carry_out(plan: Plan, machine: &dyn System, path: &str, recurse: bool) -> Result<Verdict> {
    let plan: AclPlan = plan.into_own()?;
    Ok(plan.carry_out(machine, path, recurse))
}

fn touches(path: &str) -> Touches {
    Touches::nothing().writes(Thing::Path(path.to_owned())).reads(Thing::Path("/etc/passwd".into()))
}

/// A list in Salt's form.
fn list_of(names: &[String]) -> String {
    Value::List(names.iter().map(|name| Value::from(name.as_str())).collect()).to_string()
}

fn is_directory(machine: &dyn Probe, path: &str) -> bool {
    matches!(machine.stat(Path::new(path), false), Ok(Some(stat)) if stat.kind == FileKind::Directory)
}
