//! `kmod`: the kernel's modules.

mod kernel;
mod lasting;
mod states;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

pub use states::STATES;

use super::file::Flag;
use super::{CatalogFunction, Function, entry};
use crate::machine::System;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Available>(),
    entry::<CheckAvailable>(),
    entry::<IsLoaded>(),
    entry::<Load>(),
    entry::<Lsmod>(),
    entry::<ModList>(),
    entry::<Remove>(),
];

/// All modules of the running kernel.
///
/// ```text
/// rocksalt '*' kmod.available
/// ```
#[function("kmod.available", reads)]
pub struct Available {}

impl Function for Available {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut all: Vec<String> = kernel::available(machine).into_keys().chain(kernel::built_in(machine)).collect();
        all.sort();
        all.dedup();
        Ok(all)
    }
}

/// Whether there is a module of that name for the running kernel.
///
/// ```text
/// rocksalt '*' kmod.check_available kvm
/// ```
#[function("kmod.check_available", reads)]
pub struct CheckAvailable {
    /// The module.
    r#mod: String,
}

impl Function for CheckAvailable {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let name = kernel::name(&self.r#mod)?;
        Ok(kernel::available(machine).contains_key(&name) || kernel::built_in(machine).contains(&name))
    }
}

/// Whether a module is loaded.
///
/// ```text
/// rocksalt '*' kmod.is_loaded kvm
/// ```
#[function("kmod.is_loaded", reads)]
pub struct IsLoaded {
    /// The module.
    r#mod: String,
}

impl Function for IsLoaded {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(kernel::loaded(machine).contains(&kernel::name(&self.r#mod)?))
    }
}

/// Loads a module and its dependencies, and returns those that were not loaded before.
///
/// ```text
/// rocksalt '*' kmod.load kvm
/// rocksalt '*' kmod.load 'bonding mode=4' persist=True
/// ```
#[function("kmod.load", changes)]
pub struct Load {
    /// The module, and its parameters behind it if it has any.
    r#mod: String,
    /// At each boot, too.
    persist: Flag,
}

impl Function for Load {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        load(machine, &self.r#mod, self.persist.0)
    }
}

/// The modules that are loaded, with their sizes and who uses them.
///
/// ```text
/// rocksalt '*' kmod.lsmod
/// ```
#[function("kmod.lsmod", reads)]
pub struct Lsmod {}

impl Function for Lsmod {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let shown = |module: kernel::KernelModule| {
            let mut map = Map::new();
            map.insert("size", module.size);
            map.insert("module", module.name);
            map.insert("depcount", module.users);
            map.insert("deps", module.used_by.into_iter().map(Value::String).collect::<Vec<_>>());
            map
        };
        Ok(kernel::modules(machine).into_iter().map(shown).collect())
    }
}

/// The names of the modules that are loaded.
///
/// ```text
/// rocksalt '*' kmod.mod_list
/// ```
#[function("kmod.mod_list", reads)]
pub struct ModList {
    /// Those that are loaded at each start of the system, instead.
    only_persist: Flag,
}

impl Function for ModList {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names = if self.only_persist.0 { lasting::names(machine) } else { kernel::loaded(machine) };
        names.sort();
        Ok(names)
    }
}

/// Unloads a module, and returns those that are no longer loaded.
///
/// ```text
/// rocksalt '*' kmod.remove kvm
/// ```
#[function("kmod.remove", changes)]
pub struct Remove {
    /// The module.
    r#mod: String,
    /// At each boot, too.
    persist: Flag,
    /// With `persist`: leave its line there as a comment.
    #[default(true)]
    comment: Flag,
}

impl Function for Remove {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        remove(machine, &self.r#mod, self.persist.0, self.comment.0)
    }
}

fn load(machine: &dyn System, module: &str, persist: bool) -> Result<Vec<String>> {
    let name = kernel::name(module)?;
    let before = kernel::loaded(machine);
    let words = std::iter::once("modprobe").chain(module.split_whitespace());
    kernel::run(machine, words, &format!("Error loading module {module}"))?;
    let mut new = kernel::loaded(machine);
    new.retain(|name| !before.contains(name));
    if persist && lasting::add(machine, module)? {
        new.push(name);
    }
    new.sort();
    new.dedup();
    Ok(new)
}

fn remove(machine: &dyn System, module: &str, persist: bool, comment: bool) -> Result<Vec<String>> {
    let name = kernel::name(module)?;
    let mut gone = kernel::loaded(machine);
    // A module that is only in the file needs no unloading.
    if gone.contains(&name) {
        kernel::run(machine, ["rmmod", &name].into_iter(), &format!("Error removing module {module}"))?;
    } else if !persist {
        return Err(Error::failed(format!("Error removing module {module}: it is not loaded")));
    }
    let after = kernel::loaded(machine);
    gone.retain(|name| !after.contains(name));
    if persist && lasting::remove(machine, &name, comment)? {
        gone.push(name);
    }
    gone.sort();
    gone.dedup();
    Ok(gone)
}
