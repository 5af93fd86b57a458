//! `kmod.present` and `kmod.absent`.

use rocksalt_core::Map;
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::{kernel, lasting};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<Absent>(), state::<Present>()];

/// Makes sure that kernel modules are loaded.
///
/// ```yaml
/// br_netfilter:
///   kmod.present:
///     - persist: true
/// ```
#[state("kmod.present", strict)]
pub struct Present {
    /// The module, unless `mods` names some.
    name: String,
    /// At each boot, too.
    persist: Flag,
    /// Several modules.
    mods: Vec<String>,
}

/// Makes sure that kernel modules are not loaded.
///
/// ```yaml
/// pcspkr:
///   kmod.absent:
///     - persist: true
/// ```
#[state("kmod.absent", strict)]
pub struct Absent {
    /// The module, unless `mods` names some.
    name: String,
    /// At each boot, too.
    persist: Flag,
    /// With `persist`: leave its line in the file as a comment.
    #[default(true)]
    comment: Flag,
    /// Several modules.
    mods: Vec<String>,
}

fn wanted<'a>(name: &'a String, mods: &'a [String]) -> &'a [String] {
    if mods.is_empty() { std::slice::from_ref(name) } else { mods }
}

/// `Kernel module a @`, `Kernel modules a, b @@`.
fn said(mods: &[String], one: &str, many: &str) -> Option<String> {
    match mods {
        [] => None,
        [module] => Some(one.replace('@', module)),
        mods => Some(many.replace('@', &mods.join(", "))),
    }
}

fn lines(all: impl IntoIterator<Item = Option<String>>) -> String {
    all.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The modules that were changed, and the failures.
#[derive(Default)]
struct ModulesReport {
    changes: Map,
    yes: Vec<String>,
    no: Vec<String>,
    failed: Vec<String>,
}

impl ModulesReport {
    fn take(&mut self, module: &str, result: Result<Vec<String>>, word: &str, verb: &str) {
        match result {
            Ok(names) if names.is_empty() => self.no.push(module.to_owned()),
            Ok(names) => {
                names.into_iter().for_each(|name| drop(self.changes.insert(name, word)));
                self.yes.push(module.to_owned());
            }
            Err(error) => self.failed.push(format!("Failed to {verb} kernel module {module}: {error}")),
        }
    }

    fn verdict(self, before: Vec<Option<String>>, well: bool, done: &str, verb: &str) -> Verdict {
        let comment = lines(
            before
                .into_iter()
                .chain([
                    said(&self.yes, &format!("{done} kernel module @"), &format!("{done} kernel modules @")),
                    said(
                        &self.no,
                        &format!("Failed to {verb} kernel module @"),
                        &format!("Failed to {verb} kernel modules @"),
                    ),
                ])
                .chain(self.failed.iter().cloned().map(Some)),
        );
        let well = well && self.no.is_empty() && self.failed.is_empty();
        Verdict { result: Some(well), ..Verdict::good(comment).changes(self.changes) }
    }
}

/// The modules that are present, and those that aren't.
#[derive(Serialize, Deserialize)]
pub struct ModulesPlan {
    already: Vec<String>,
    unavailable: Vec<String>,
    load: Vec<String>,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let mods = wanted(&self.name, &self.mods);
        let (mut there, available) = (kernel::loaded(machine), kernel::available(machine));
        let loaded = there.clone();
        // Built-in modules need no loading.
        there.extend(kernel::built_in(machine));
        let lasting = if self.persist.0 { Some(lasting::names(machine)) } else { None };
        let (mut already, mut missing) = (Vec::new(), Vec::new());
        for module in mods {
            let name = kernel::name(module)?;
            let is_right = there.contains(&name) && lasting.as_ref().is_none_or(|lasting| lasting.contains(&name));
            if is_right { already.push(module.clone()) } else { missing.push(module.clone()) }
        }
        let right = said(&already, "Kernel module @ is already present", "Kernel modules @ are already present");
        if missing.is_empty() {
            return Ok(Decision::Settled(Verdict::good(lines([right]))));
        }
        let would = said(&missing, "Kernel module @ is set to be loaded", "Kernel modules @ are set to be loaded");
        let mut changes = Map::new();
        let (mut unavailable, mut load) = (Vec::new(), Vec::new());
        for module in missing {
            let name = kernel::name(&module)?;
            let Some(needs) = available.get(&name) else {
                let list = if there.contains(&name) { &mut load } else { &mut unavailable };
                if there.contains(&name) {
                    changes.insert(name, "loaded");
                }
                list.push(module);
                continue;
            };
            needs.iter().filter(|needed| !loaded.contains(needed)).for_each(|needed| {
                changes.insert(needed.as_str(), "loaded");
            });
            changes.insert(name, "loaded");
            load.push(module);
        }
        let verdict = Verdict::would(lines([right, would])).changes(changes);
        Decision::own(&ModulesPlan { already, unavailable, load }, verdict)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: ModulesPlan = plan.into_own()?;
        let mut done = ModulesReport::default();
        for module in &plan.load {
            // It may have been loaded with a module that needed it.
            if done.changes.contains_key(&kernel::name(module)?) && !self.persist.0 {
                done.yes.push(module.clone());
                continue;
            }
            done.take(module, super::load(machine, module, self.persist.0), "loaded", "load");
        }
        let before = vec![
            said(&plan.already, "Kernel module @ is already present", "Kernel modules @ are already present"),
            said(&plan.unavailable, "Kernel module @ is unavailable", "Kernel modules @ are unavailable"),
        ];
        Ok(done.verdict(before, plan.unavailable.is_empty(), "Loaded", "load"))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let mods = wanted(&self.name, &self.mods);
        let mut there = kernel::loaded(machine);
        if self.persist.0 {
            there.extend(lasting::names(machine));
        }
        let mut unload = Vec::new();
        let mut changes = Map::new();
        for module in mods {
            let name = kernel::name(module)?;
            if there.contains(&name) {
                changes.insert(name, "removed");
                unload.push(module.clone());
            }
        }
        if unload.is_empty() {
            let text = said(mods, "Kernel module @ is already removed", "Kernel modules @ are already removed");
            return Ok(Decision::Settled(Verdict::good(lines([text]))));
        }
        let would = said(&unload, "Kernel module @ is set to be removed", "Kernel modules @ are set to be removed");
        Decision::own(&unload, Verdict::would(lines([would])).changes(changes))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: Vec<String> = plan.into_own()?;
        let mut done = ModulesReport::default();
        for module in &plan {
            let result = super::remove(machine, module, self.persist.0, self.comment.0);
            done.take(module, result, "removed", "remove");
        }
        Ok(done.verdict(Vec::new(), true, "Removed", "remove"))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// The kernel and both module files, since only the machine knows which of the files is used.
fn touches() -> Touches {
    let path = |path: &str| Thing::Path(path.to_owned());
    Touches::nothing()
        .reads(path("/lib/modules"))
        .writes(path("/proc/modules"))
        .writes(path("/etc/modules"))
        .writes(path("/etc/modules-load.d/salt_managed.conf"))
}
