//! Modules of the policy.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::{function, state};

use super::super::file::Flag;
use super::super::{Decision, Function, State, Step, Thing, Touches, Verdict, tool};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The installed modules, and whether they are enabled.
fn all(machine: &dyn Probe) -> Result<Vec<(String, bool)>> {
    let text = tool::told(machine, &[&tool::find(machine, "semodule")?, "--list-modules=full"])?;
    // 100 name pp disabled
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(((*words.get(1)?).to_owned(), words.get(3) != Some(&"disabled")))
    };
    Ok(text.lines().filter_map(one).collect())
}

fn sound(name: &str) -> Result<()> {
    match name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c == '\0') {
        true => Err(Error::arguments(format!("'{name}' is no name of a module"))),
        false => Ok(()),
    }
}

/// A module's name, from the name of its file.
fn name_of(path: &str) -> String {
    let file = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    file.strip_suffix(".pp").unwrap_or(&file).to_owned()
}

/// Installs a module from a file of this machine, or of the controller (`salt://…`).
fn install(machine: &dyn System, source: &str, saltenv: &str) -> Result<()> {
    let semodule = tool::find(machine, "semodule")?;
    let Some(path) = source.strip_prefix("salt://") else {
        sound(source)?;
        return tool::done(machine, &[&semodule, "--install", source]).map(drop);
    };
    let content = machine.tree().read(saltenv, path)?.ok_or_else(|| {
        Error::failed(format!("the controller has no file {source}")).hint("`cp.list_master` shows what it has")
    })?;
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = format!("/var/tmp/.rocksalt-selinux-{}-{}", std::process::id(), (machine.now() * 1e9) as u64);
    machine.make_dir(Path::new(&folder), 0o700).map_err(|error| Error::io("make the directory", &folder, &error))?;
    let place = format!("{folder}/{file}");
    let done = tool::write(machine, &place, &content, Some(0o600))
        .and_then(|()| tool::done(machine, &[&*semodule, "--install", &place]).map(drop));
    let _ = machine.remove(Path::new(&folder));
    done
}

/// Makes sure that a module of the policy is in force, or that it isn't.
///
/// ```yaml
/// zebra:
///   selinux.module:
///     - module_state: Enabled
/// mine:
///   selinux.module:
///     - install: True
///     - source: salt://selinux/mine.pp
/// ```
#[state("selinux.module", aggregates)]
pub struct Module {
    /// The module.
    name: String,
    /// `Enabled` or `Disabled`.
    module_state: Value,
    /// Accepted for compatibility with Salt: today's tools don't know versions.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    version: Value,
    /// Install it first.
    install: Flag,
    /// Where it comes from: a path, or `salt://…`.
    source: Option<String>,
    /// Remove it.
    remove: Flag,
}

impl State for Module {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if self.install.0 && self.remove.0 {
            return Ok(Decision::Settled(Verdict::bad("Cannot install and remove at the same time")));
        }
        let source = self.source.as_deref().unwrap_or(name);
        let known = if self.install.0 && name.contains('/') { name_of(source) } else { name.clone() };
        sound(&known)?;
        if self.remove.0 {
            return removal(machine, &known);
        }
        let wanted = match self.module_state.to_string().to_lowercase().as_str() {
            "1" | "on" | "yes" | "true" | "enabled" | "none" | "" => true,
            "0" | "off" | "no" | "false" | "disabled" => false,
            other => {
                let text = format!("{other} is not a valid state for the {name} module.");
                return Ok(Decision::Settled(Verdict::bad(text)));
            }
        };
        let state = if wanted { "Enabled" } else { "Disabled" };
        let now = all(machine)?.into_iter().find(|(module, _)| *module == known).map(|(_, enabled)| enabled);
        if now.is_none() && !self.install.0 {
            return Ok(Decision::Settled(Verdict::bad(format!("Module {name} is not available"))));
        }
        // An installed module is only reinstalled by selinux.module_install, since its content can't be compared.
        let install = (self.install.0 && now.is_none()).then(|| source.to_owned());
        if now == Some(wanted) {
            return Ok(Decision::Settled(Verdict::good(format!("Module {name} is in the desired state"))));
        }
        let old: Value = now.map_or(Value::Null, |enabled| if enabled { "Enabled" } else { "Disabled" }.into());
        let change = crate::catalog::change(old, state);
        let mut plan =
            Plan::new(Verdict::good(format!("Module {name} has been set to {state}")).change(known.as_str(), change))
                .or(format!("Failed to set the Module {name} to {state}"));
        // A module that was just installed is enabled.
        if now.is_some() || !wanted {
            let option = if wanted { "--enable" } else { "--disable" };
            plan = plan.run(&[&tool::find(machine, "semodule")?, option, &known]);
        }
        Ok(plan.with_own(&install)?.announced(format!("Module {name} is set to be toggled to {state}")))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let source: Option<String> = plan.take_own()?;
        if let Some(source) = &source
            && let Err(error) = install(machine, source, step.saltenv)
        {
            return Ok(Verdict::bad(format!("Failed to install module {source}\n{error}")));
        }
        plan.carry_out(machine)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Installs a module of the policy, each time: what is in one that is there can't be known.
///
/// ```yaml
/// salt://selinux/mine.pp:
///   selinux.module_install
/// ```
#[state("selinux.module_install", strict, aggregates)]
pub struct ModuleInstall {
    /// Where it comes from: a path, or `salt://…`.
    name: String,
}

impl State for ModuleInstall {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let module = name_of(&self.name);
        sound(&module)?;
        let is_new = !all(machine)?.iter().any(|(known, _)| *known == module);
        let would = Verdict::would(format!("Module {} would be installed", self.name));
        Decision::own(&is_new, if is_new { would.change(module, "installed") } else { would })
    }

    fn apply(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        let is_new: bool = plan.into_own()?;
        Ok(match install(machine, &self.name, step.saltenv) {
            Ok(()) => {
                let done = Verdict::good(format!("Module {} has been installed", self.name));
                if is_new { done.change(name_of(&self.name), "installed") } else { done }
            }
            Err(error) => Verdict::bad(format!("Failed to install module {}\n{error}", self.name)),
        })
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

/// Removes a module of the policy.
///
/// ```yaml
/// mine:
///   selinux.module_remove
/// ```
#[state("selinux.module_remove", strict, aggregates)]
pub struct ModuleRemove {
    /// The module.
    name: String,
}

impl State for ModuleRemove {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        removal(machine, &self.name)
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

fn removal(machine: &dyn Probe, name: &str) -> Result<Decision> {
    sound(name)?;
    if !all(machine)?.iter().any(|(known, _)| known == name) {
        // Salt fails here, so that a second run would fail.
        return Ok(Decision::Settled(Verdict::good(format!("Module {name} is not available"))));
    }
    let plan = Plan::new(Verdict::good(format!("Module {name} has been removed")).change(name, "removed"))
        .run(&[&*tool::find(machine, "semodule")?, "--remove", name])
        .or(format!("Failed to remove module {name}"));
    Ok(plan.announced(format!("Module {name} would be removed")))
}

fn touches() -> Touches {
    Touches::nothing().writes(Thing::Path("/etc/selinux".into())).writes(Thing::Path("/var/lib/selinux".into()))
}

/// The modules of the policy, and whether they are in force.
///
/// ```text
/// rocksalt '*' selinux.list_semod
/// ```
#[function("selinux.list_semod", reads)]
pub struct ListSemod {}

impl Function for ListSemod {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let data = |(name, enabled): (String, bool)| {
            let data: Map = [("Enabled".into(), enabled.into()), ("Version".into(), Value::Null)].into_iter().collect();
            (name.into(), data.into())
        };
        Ok(all(machine)?.into_iter().map(data).collect())
    }
}
