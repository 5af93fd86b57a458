//! [`PackageProvider`]: a package manager.
//!
//! To add one: write a file with a [`PackageProvider`], and a line in [`PROVIDERS`].

mod apk;
mod apt;
mod dnf;
mod pacman;
mod rpm;
mod transaction;
mod zypper;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

pub use transaction::{
    Options, Package, PackageArchive, PackageOperation, PackageTransaction, TransactionPackage, TransactionReport,
};

use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// A package manager: queries use a [`Probe`], changes a [`System`].
pub trait PackageProvider: Sync {
    /// The name that people use.
    fn name(&self) -> &'static str;

    /// The values of the grain `os_family` for which it is used.
    fn families(&self) -> &'static [&'static str];

    /// The program that it requires.
    fn program(&self) -> &'static str;

    /// Which of two versions is newer.
    fn compare(&self, one: &str, other: &str) -> Ordering;

    /// A name in the form of the lists: without the default architecture.
    fn normal(&self, _: &dyn Probe, name: &str) -> String {
        name.to_owned()
    }

    /// The installed packages, and the removed ones that left configuration.
    fn packages(&self, machine: &dyn Probe) -> Result<Arc<Packages>>;

    /// The newest available version of each package; packages without one are left out.
    fn candidates(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<BTreeMap<String, String>>;

    /// All available versions of each package, the newest first.
    fn versions(&self, machine: &dyn Probe, names: &[String], options: &Options) -> Result<PackageVersions>;

    /// The packages that an upgrade would change, with their new versions.
    fn upgrades(
        &self,
        machine: &dyn Probe,
        options: &Options,
        everything: bool,
    ) -> Result<std::result::Result<BTreeMap<String, String>, String>>;

    /// The predicted changes of an operation; the manager's message if it is impossible, `None` if the manager can't
    /// predict it.
    fn foresee(
        &self,
        machine: &dyn Probe,
        transaction: &PackageTransaction,
    ) -> Result<Option<std::result::Result<Vec<Foreseen>, String>>>;

    /// Carries out a transaction. Failures of the manager are in the report; an error means that it could not be run.
    fn execute(&self, machine: &dyn System, transaction: &PackageTransaction) -> Result<TransactionReport>;

    /// Fetches the package lists. Returns Salt's result for each.
    fn refresh(&self, machine: &dyn System) -> Result<std::result::Result<Map, String>>;

    /// When the lists were last fetched, in seconds since 1970.
    fn refreshed(&self, _: &dyn Probe) -> Option<f64> {
        None
    }

    /// Name, version and architecture in a package file.
    fn inspect(&self, machine: &dyn Probe, archive: &PackageArchive) -> Result<Package>;

    /// The held packages, each with the version at which it is held, if known.
    fn holds(&self, machine: &dyn Probe) -> Result<BTreeMap<String, Option<String>>>;

    /// Holds or releases packages.
    fn set_hold(&self, machine: &dyn System, packages: &[(String, Option<String>)], hold: bool) -> Result<()>;

    /// Salt's word for a released package.
    fn released(&self) -> &'static str {
        "is no longer being held."
    }

    /// A hold in the form of changes: old and new value.
    fn hold_change(&self, hold: bool) -> (Value, Value) {
        match hold {
            true => ("".into(), "hold".into()),
            false => ("hold".into(), "".into()),
        }
    }

    /// Whether an installation changes held packages that it names, even without `update_holds`.
    fn breaks_holds(&self) -> bool {
        false
    }

    /// Whether installing an installed package without a version upgrades it.
    fn install_upgrades(&self) -> bool {
        true
    }

    /// Whether removing leaves configuration, so that purging differs.
    fn keeps_configuration(&self) -> bool {
        false
    }

    /// Whether a hold applies to a version.
    fn holds_versions(&self) -> bool {
        false
    }

    /// The extension of its package files.
    fn ending(&self) -> &'static str {
        "rpm"
    }

    /// The package that owns a path; empty if there is none.
    fn owner(&self, machine: &dyn Probe, path: &Path) -> Result<String>;

    /// The files of installed packages, by package.
    fn files(&self, machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>>;

    /// Details of installed packages in Salt's form.
    fn info(&self, machine: &dyn Probe, names: &[String]) -> Result<Map>;

    /// The packages of a group, if the manager has groups.
    fn group(&self, _: &dyn Probe, _: &str) -> Result<Option<PackageGroup>> {
        Ok(None)
    }
}

/// Alphabetical by name.
const PROVIDERS: &[&dyn PackageProvider] = &[&apk::Apk, &apt::Apt, &dnf::Dnf, &pacman::Pacman, &zypper::Zypper];

pub type PackageVersions = BTreeMap<String, Vec<String>>;

/// The packages on a machine. A package may be installed in several versions, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    pub installed: PackageVersions,
    /// Removed packages with remaining configuration.
    pub removed: PackageVersions,
    /// Installed packages that are marked to be purged.
    pub purge_desired: PackageVersions,
}

impl Packages {
    /// The versions of a package, by its name or normal name.
    pub fn of(&self, machine: &dyn Probe, provider: &dyn PackageProvider, name: &str) -> &[String] {
        let found = self.installed.get(name).or_else(|| self.installed.get(&provider.normal(machine, name)));
        found.map_or(&[], Vec::as_slice)
    }
}

/// A package in a predicted change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    pub name: String,
    pub new: Option<String>,
    /// Nothing of it would remain.
    pub purged: bool,
}

/// The packages of a group, by their type of membership.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageGroup {
    pub id: String,
    pub name: String,
    pub description: String,
    pub mandatory: Vec<String>,
    pub default: Vec<String>,
    pub optional: Vec<String>,
    pub conditional: Vec<String>,
}

/// The manager of this machine: by `os_family`, and of several the one whose program exists.
pub fn provider(machine: &dyn Probe) -> Result<&'static dyn PackageProvider> {
    let grains = machine.grains();
    let family = grains.get("os_family").and_then(Value::as_str).unwrap_or_default();
    let wanted = machine.options().get("providers").and_then(|all| all.as_map()?.get("pkg")?.as_str());
    if let Some(wanted) = wanted {
        let name = match wanted {
            "aptpkg" => "apt",
            "yumpkg" => "dnf",
            other => other.strip_suffix("pkg").unwrap_or(other),
        };
        return PROVIDERS.iter().find(|provider| provider.name() == name).copied().ok_or_else(|| {
            Error::failed(format!("there is no package manager '{wanted}', which `providers` names")).hint(known())
        });
    }
    let fitting = || PROVIDERS.iter().copied().filter(|provider| provider.families().contains(&family));
    let found = fitting().find(|provider| has(machine, provider.program())).or_else(|| fitting().next());
    found.ok_or_else(|| {
        Error::failed(format!("there is no package manager for systems of the family '{family}'")).hint(known())
    })
}

fn known() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name()).collect();
    format!("there are {}", names.join(", "))
}

/// Whether a program is on the machine.
pub fn has(machine: &dyn Probe, program: &str) -> bool {
    let places = machine.env("PATH").unwrap_or_default();
    let places =
        places.split(':').chain(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]);
    places.filter(|place| !place.is_empty()).any(
        |place| matches!(machine.stat(&Path::new(place).join(program), true), Ok(Some(stat)) if stat.mode & 0o111 != 0),
    )
}

/// A command without variables that would change the program's output.
pub fn command<I, S>(argv: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    let mut command = Command::new(argv);
    let texts = [("LC_ALL", Some("C.UTF-8")), ("LANG", Some("C.UTF-8")), ("LANGUAGE", None)];
    command.env = texts.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
    command
}

/// As [`command`], for what changes packages: if the agent dies, the manager may finish.
pub fn transaction<I, S>(argv: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    Command { finishes: true, ..command(argv) }
}

/// The output of a program; an error if it fails.
pub fn output(machine: &dyn Probe, argv: &[&str]) -> Result<String> {
    let command = command(argv.iter().copied());
    let output = machine.query(&command)?;
    match output.success() {
        true => Ok(output.text()),
        false => Err(Error::failed(failure(&command, &output))),
    }
}

/// The command, how it ended, and its whole output.
pub fn failure(command: &Command, output: &Output) -> String {
    let line = crate::text::words::join(&command.argv);
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
    let said = said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    match output.timed_out {
        true => format!("'{line}' took too long and was ended:\n{said}"),
        false => format!("'{line}' failed with exit code {}:\n{said}", output.code),
    }
}

/// Checks that a name can't be taken for an option, a pattern or a command.
pub fn sound(name: &str) -> Result<&str> {
    let fits = |letter: char| letter.is_alphanumeric() || "+-.:_~@()".contains(letter);
    let odd = name.is_empty() || name.starts_with(['-', '.']) || name.ends_with('-') || !name.chars().all(fits);
    match odd {
        true => Err(Error::arguments(format!("'{name}' is no name of a package"))),
        false => Ok(name),
    }
}

/// As [`sound`], for versions.
pub fn sound_version(version: &str) -> Result<&str> {
    let fits = |letter: char| letter.is_alphanumeric() || "+-.:_~^*?[]!@".contains(letter);
    match version.is_empty() || version.starts_with('-') || !version.chars().all(fits) {
        true => Err(Error::arguments(format!("'{version}' is no version of a package"))),
        false => Ok(version),
    }
}

#[cfg(test)]
pub fn by_name(name: &str) -> Option<&'static dyn PackageProvider> {
    PROVIDERS.iter().find(|provider| provider.name() == name).copied()
}
