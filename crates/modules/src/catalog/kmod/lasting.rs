//! The file that lists the modules to load at boot.

use std::path::Path;

use super::kernel;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub fn file(machine: &dyn Probe) -> &'static str {
    match machine.grains().contains_key("systemd") {
        true => "/etc/modules-load.d/salt_managed.conf",
        false => "/etc/modules",
    }
}

pub fn names(machine: &dyn Probe) -> Vec<String> {
    let text = look::text(machine, file(machine)).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| kernel::name(line).ok()).collect()
}

/// Adds a module; false if it is listed already. A commented-out line is restored.
pub fn add(machine: &dyn System, module: &str) -> Result<bool> {
    if names(machine).contains(&kernel::name(module)?) {
        return Ok(false);
    }
    let text = look::text(machine, file(machine)).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    let commented = |line: &&str| line.strip_prefix('#').is_some_and(|line| line.trim() == module);
    match lines.iter().position(commented) {
        Some(at) => lines[at] = module,
        None => lines.push(module),
    }
    write(machine, &lines.join("\n")).map(|()| true)
}

/// Removes a module; false if it is not listed.
pub fn remove(machine: &dyn System, name: &str, comment: bool) -> Result<bool> {
    let text = look::text(machine, file(machine)).unwrap_or_default();
    let is_it = |line: &str| !line.trim_start().starts_with('#') && kernel::name(line).is_ok_and(|other| other == name);
    if !text.lines().any(is_it) {
        return Ok(false);
    }
    let kept = text.lines().filter_map(|line| match (is_it(line), comment) {
        (false, _) => Some(line.to_owned()),
        (true, true) => Some(format!("#{line}")),
        (true, false) => None,
    });
    write(machine, &kept.collect::<Vec<_>>().join("\n")).map(|()| true)
}

fn write(machine: &dyn System, text: &str) -> Result<()> {
    let path = file(machine);
    let content = if text.is_empty() { String::new() } else { format!("{text}\n") };
    machine.write(Path::new(path), content.as_bytes(), None).map_err(|error| Error::io("write", path, &error))
}
