//! The mode of SELinux: enforcing, permissive or disabled.

use rocksalt_macros::{function, state};

use super::super::{Decision, Function, State, Step, Thing, Touches, Verdict, tool};
use crate::catalog::Plan;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};
use std::path::Path;

const CONFIG: &str = "/etc/selinux/config";

/// The kernel's current mode, if SELinux is enabled.
fn switch(machine: &dyn Probe) -> Option<&'static str> {
    ["/sys/fs/selinux/enforce", "/selinux/enforce"].into_iter().find(|path| look::exists(machine, path))
}

fn current(machine: &dyn Probe) -> &'static str {
    match switch(machine).and_then(|path| look::line(machine, path)).as_deref() {
        None => "Disabled",
        Some("0") => "Permissive",
        Some(_) => "Enforcing",
    }
}

/// The mode at the next boot.
fn configured(machine: &dyn Probe) -> Option<String> {
    let text = look::text(machine, CONFIG)?;
    let value = text.lines().find_map(|line| line.trim().strip_prefix("SELINUX="))?.trim().to_lowercase();
    let first = value.chars().next()?.to_ascii_uppercase();
    Some(format!("{first}{}", &value[first.len_utf8()..]))
}

fn refined(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    match lower.as_str() {
        "1" | "on" | "true" => Some("Enforcing"),
        "0" | "off" | "false" => Some("Permissive"),
        word if word.starts_with('e') => Some("Enforcing"),
        word if word.starts_with('p') => Some("Permissive"),
        word if word.starts_with('d') => Some("Disabled"),
        _ => None,
    }
}

fn set(machine: &dyn System, mode: &str) -> Result<()> {
    if let Some(path) = switch(machine) {
        let value: &[u8] = if mode == "Enforcing" { b"1" } else { b"0" };
        // Written in place, because it is a file of the kernel.
        machine.append(Path::new(path), value).map_err(|error| Error::io("write", path, &error))?;
    }
    let text = look::text(machine, CONFIG).ok_or_else(|| Error::failed(format!("could not read {CONFIG}")))?;
    let line = format!("SELINUX={}\n", mode.to_lowercase());
    let is_it = |old: &str| old.trim_start().starts_with("SELINUX=");
    let mut new: String = text.split_inclusive('\n').map(|old| if is_it(old) { line.as_str() } else { old }).collect();
    if !text.lines().any(is_it) {
        new += &line;
    }
    tool::write(machine, CONFIG, new.as_bytes(), None)
}

/// Sets the mode, now and at every boot.
///
/// ```yaml
/// enforcing:
///   selinux.mode
/// ```
#[state("selinux.mode", strict, aggregates)]
pub struct Mode {
    /// `Enforcing`, `Permissive` or `Disabled`; the last counts from the next boot.
    name: String,
}

impl State for Mode {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Some(wanted) = refined(&self.name) else {
            return Ok(Decision::Settled(Verdict::bad(format!("{} is not an accepted mode", self.name))));
        };
        let config = configured(machine);
        let mut now = current(machine).to_owned();
        // The comment reports what still differs.
        if now == wanted && config.as_deref() != Some(wanted) {
            now = config.clone().unwrap_or_else(|| "None".into());
        }
        // Enabling and disabling takes effect only at a boot.
        let at_boot = (wanted == "Disabled") != (current(machine) == "Disabled");
        if now == wanted || (at_boot && config.as_deref() == Some(wanted)) {
            return Ok(Decision::Settled(Verdict::good(format!("SELinux is already in {wanted} mode"))));
        }
        let would = Verdict::would(format!("SELinux mode is set to be changed to {wanted}"));
        let would = would.change("old", now).change("new", wanted);
        let done = Verdict::good(format!("SELinux has been set to {wanted} mode")).changes(would.changes.clone());
        Ok(Decision::Change(Plan::new(done), would))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let wanted = refined(&self.name).unwrap_or_default();
        Ok(match set(machine, wanted) {
            Ok(()) => plan.done,
            Err(error) => Verdict::bad(format!("Failed to set SELinux to {wanted} mode: {error}")),
        })
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
            .writes(Thing::Path(CONFIG.into()))
            .writes(Thing::Path("/sys/fs/selinux".into()))
            .writes(Thing::Path("/selinux".into()))
    }
}

/// The mode that SELinux is in: `Enforcing`, `Permissive` or `Disabled`.
///
/// ```text
/// rocksalt '*' selinux.getenforce
/// ```
#[function("selinux.getenforce", reads)]
pub struct Getenforce {}

impl Function for Getenforce {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        Ok(current(machine))
    }
}

/// The mode that SELinux is in after the next boot.
///
/// ```text
/// rocksalt '*' selinux.getconfig
/// ```
#[function("selinux.getconfig", reads)]
pub struct Getconfig {}

impl Function for Getconfig {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        Ok(configured(machine))
    }
}

/// Sets the mode, now and at every boot, and returns the one it is in then.
///
/// ```text
/// rocksalt '*' selinux.setenforce enforcing
/// ```
#[function("selinux.setenforce", changes)]
pub struct Setenforce {
    /// `Enforcing`, `Permissive` or `Disabled`.
    mode: String,
}

impl Function for Setenforce {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let mode = match self.mode.to_lowercase().as_str() {
            "enforcing" => "Enforcing",
            "permissive" => "Permissive",
            "disabled" => "Disabled",
            _ => return Err(Error::arguments(format!("Invalid mode {}", self.mode))),
        };
        set(machine, mode)?;
        Ok(current(machine))
    }
}
