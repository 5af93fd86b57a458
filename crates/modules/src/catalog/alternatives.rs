//! `alternatives`: which of several programs a name stands for.

use std::path::Path;

use rocksalt_core::Value;
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] =
    &[entry::<CheckExists>(), entry::<CheckInstalled>(), entry::<Display>(), entry::<ShowCurrent>()];

fn current(machine: &dyn Probe, name: &str) -> Result<Option<String>> {
    sound(name)?;
    let path = Path::new("/etc/alternatives").join(name);
    Ok(machine.read_link(&path).ok().map(|target| target.to_string_lossy().into_owned()))
}

/// It becomes part of a path and of a command line.
fn sound(name: &str) -> Result<()> {
    match name.is_empty() || name.starts_with(['-', '.']) || name.contains(['/', '\0']) {
        true => Err(Error::arguments(format!("'{name}' is no name of an alternative"))),
        false => Ok(()),
    }
}

/// What the system's own program says of a name; none if it fails.
fn displayed(machine: &dyn Probe, name: &str) -> Result<(bool, String)> {
    sound(name)?;
    let grains = machine.grains();
    let program = match grains.get("os_family").and_then(Value::as_str) {
        Some("RedHat") => "alternatives",
        _ => "update-alternatives",
    };
    let output = machine.query(&Command::new([program, "--display", name]))?;
    let failed = !output.success() && !output.stderr.is_empty();
    let text = if failed { String::from_utf8_lossy(&output.stderr).into_owned() } else { output.text() };
    Ok((!failed, text.trim_end().to_owned()))
}

/// The path that a name stands for now; `False` if there is no such name.
///
/// ```text
/// rocksalt '*' alternatives.show_current editor
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ShowCurrent {
    /// The name.
    name: String,
}

impl Function for ShowCurrent {
    const NAME: &'static str = "alternatives.show_current";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(current(machine, &self.name)?.map_or(Value::Bool(false), Value::from))
    }
}

/// Whether a name stands for a path now.
///
/// ```text
/// rocksalt '*' alternatives.check_installed editor /usr/bin/vim.basic
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CheckInstalled {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for CheckInstalled {
    const NAME: &'static str = "alternatives.check_installed";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(current(machine, &self.name)?.as_ref() == Some(&self.path))
    }
}

/// Whether a name can stand for a path.
///
/// ```text
/// rocksalt '*' alternatives.check_exists editor /usr/bin/vim.basic
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CheckExists {
    /// The name.
    name: String,
    /// The path.
    path: String,
}

impl Function for CheckExists {
    const NAME: &'static str = "alternatives.check_exists";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let (known, text) = displayed(machine, &self.name)?;
        Ok(known && text.lines().any(|line| line.starts_with(&self.path)))
    }
}

/// Everything that the system's own program says of a name.
///
/// ```text
/// rocksalt '*' alternatives.display editor
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Display {
    /// The name.
    name: String,
}

impl Function for Display {
    const NAME: &'static str = "alternatives.display";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(displayed(machine, &self.name)?.1)
    }
}
