//! `pkg`: what is installed on a target, by its own package manager.
//!
//! To add a package manager: write a file with a [`Provider`], and a line in [`PROVIDERS`].

mod apk;
mod dpkg;
mod functions;
mod rpm;

use std::cmp::Ordering;

use rocksalt_core::Value;

use super::{Entry, Function, entry};
use crate::machine::{Command, Probe};
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<functions::LatestVersion>().also(&["pkg.available_version"]),
    entry::<functions::ListPkgs>(),
    entry::<functions::Version>(),
    entry::<functions::VersionCmp>(),
];

/// A package manager.
pub trait Provider: Sync {
    /// The values of the grain `os_family` that it is for.
    fn families(&self) -> &'static [&'static str];

    /// Every installed package with its version; one may be there in several versions.
    fn installed(&self, machine: &dyn Probe) -> Result<Vec<(String, String)>>;

    /// The newest version that could be installed; none if nobody offers the package.
    fn newest(&self, machine: &dyn Probe, name: &str) -> Result<Option<String>>;

    /// Which of two versions is newer.
    fn compare(&self, machine: &dyn Probe, one: &str, other: &str) -> Result<Ordering>;
}

/// Alphabetical by name.
const PROVIDERS: &[(&str, &dyn Provider)] = &[("apk", &apk::Apk), ("dpkg", &dpkg::Dpkg), ("rpm", &rpm::Rpm)];

/// The one for this machine.
fn provider(machine: &dyn Probe) -> Result<&'static dyn Provider> {
    let grains = machine.grains();
    let family = grains.get("os_family").and_then(Value::as_str).unwrap_or_default();
    let found = PROVIDERS.iter().find(|(_, provider)| provider.families().contains(&family));
    found.map(|(_, provider)| *provider).ok_or_else(|| {
        let names: Vec<&str> = PROVIDERS.iter().map(|(name, _)| *name).collect();
        Error::failed(format!("there is no package manager for systems of the family '{family}'"))
            .hint(format!("there are {}", names.join(", ")))
    })
}

/// What a program prints; an error if it fails.
fn output(machine: &dyn Probe, argv: &[&str]) -> Result<String> {
    let output = machine.query(&Command::new(argv.iter().copied()))?;
    match output.success() {
        true => Ok(output.text()),
        false => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Error::failed(format!("'{}' failed with exit code {}: {why}", argv.join(" "), output.code)))
        }
    }
}

/// A user's word that must not be taken for an option.
fn sound(name: &str) -> Result<&str> {
    match name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        true => Err(Error::arguments(format!("'{name}' is no name of a package"))),
        false => Ok(name),
    }
}
