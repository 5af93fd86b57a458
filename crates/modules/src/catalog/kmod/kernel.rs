//! The kernel's loaded and available modules.

use std::collections::BTreeMap;

use crate::grains::look;
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

/// A line of `/proc/modules`.
pub struct KernelModule {
    pub name: String,
    pub size: String,
    pub users: String,
    pub used_by: Vec<String>,
}

/// The loaded modules in the kernel's order, the last loaded first.
pub fn modules(machine: &dyn Probe) -> Vec<KernelModule> {
    let text = look::text(machine, "/proc/modules").unwrap_or_default();
    let module = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (name, size, users, by) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let used_by = by.split(',').filter(|name| !matches!(*name, "" | "-")).map(str::to_owned).collect();
        Some(KernelModule { name, size, users, used_by })
    };
    text.lines().filter_map(module).collect()
}

pub fn loaded(machine: &dyn Probe) -> Vec<String> {
    modules(machine).into_iter().map(|module| module.name).collect()
}

/// The directory of the running kernel's modules.
fn folder(machine: &dyn Probe) -> Option<String> {
    Some(format!("/lib/modules/{}", look::line(machine, "/proc/sys/kernel/osrelease")?))
}

/// The available modules with those that each needs, without built-in ones.
pub fn available(machine: &dyn Probe) -> BTreeMap<String, Vec<String>> {
    let text = folder(machine).and_then(|folder| look::text(machine, &format!("{folder}/modules.dep")));
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(path, needs)| (of_path(path), needs.split_whitespace().map(of_path).collect())).collect()
}

/// The modules that are built into the kernel.
pub fn built_in(machine: &dyn Probe) -> Vec<String> {
    let text = folder(machine).and_then(|folder| look::text(machine, &format!("{folder}/modules.builtin")));
    text.unwrap_or_default().lines().map(of_path).collect()
}

/// `kernel/net/nf-x.ko.xz` is `nf_x`.
fn of_path(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split(".ko").next().unwrap_or(file).replace('-', "_")
}

/// The name of a module in the kernel's spelling, without parameters.
pub fn name(module: &str) -> Result<String> {
    let name = module.split_whitespace().next().unwrap_or_default();
    if name.is_empty()
        || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        || name.starts_with('-')
    {
        return Err(Error::arguments(format!("'{module}' is no name of a kernel module")));
    }
    Ok(name.replace('-', "_"))
}

/// Runs a tool; the error is its message after `failed`.
pub fn run<'w>(machine: &dyn System, words: impl Iterator<Item = &'w str>, failed: &str) -> Result<()> {
    let mut words = words.map(str::to_owned);
    let tool = words.next().unwrap_or_default();
    let Some(program) = look::program(machine, &tool) else {
        return Err(Error::failed(format!("Command '{tool}' cannot be found")).hint("the package kmod has it"));
    };
    let output = machine.run(&Command::new(std::iter::once(program).chain(words)))?;
    if output.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &output.text();
    Err(Error::failed(format!("{failed}: {}", said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules() {
        assert_eq!(of_path("kernel/net/nf-x.ko.xz"), "nf_x");
        assert_eq!(name("bonding mode=4").expect("a name"), "bonding");
        assert_eq!(name("nf-conntrack").expect("a name"), "nf_conntrack");
        assert!(name("").is_err() && name("-r").is_err() && name("../x").is_err());
    }
}
