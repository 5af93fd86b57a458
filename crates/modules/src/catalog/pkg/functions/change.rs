//! Functions that change packages.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::super::file::Flag;
use super::super::condition::Judge;
use super::super::provider::{
    Options, PackageOperation, PackageProvider, PackageTransaction, TransactionPackage, provider,
};
use super::super::requests::{self, PackageRequest};
use super::super::states::InstallAttempt;
use super::super::{changes, hold, refresh, sources};
use super::Function;
use crate::machine::System;
use crate::text::glob;
use crate::{Error, Result};

/// Installs packages, and returns what has changed.
///
/// ```text
/// rocksalt '*' pkg.install nginx
/// rocksalt '*' pkg.install nginx version=1.22.1-9 refresh=True
/// rocksalt '*' pkg.install pkgs='["curl", {"rsync": ">=3.2"}]'
/// rocksalt '*' pkg.install sources='[{"mytool": "salt://mytool.deb"}]'
/// ```
#[function("pkg.install", changes)]
pub struct Install {
    /// The package, or several with commas.
    name: Option<String>,
    /// Refresh the package lists first.
    refresh: Flag,
    /// Several packages, each a name or `{name: version}`.
    pkgs: Value,
    /// Package files, each `{name: source}`.
    sources: Value,
    /// The version of `name`.
    version: Value,
    /// Install once more what is there already.
    reinstall: Flag,
    /// Compare versions without what stands before a colon.
    ignore_epoch: Value,
    /// Change packages that are held, and hold them again.
    update_holds: Flag,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// Further options, as those of `pkg.installed`.
    kwargs: Map,
}

impl Function for Install {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let provider = provider(machine)?;
        if self.pkgs.truth() && self.sources.truth() {
            return Err(Error::arguments("pkg.install: only one of pkgs and sources can be given"));
        }
        let version = Some(&self.version).filter(|version| version.truth()).map(ToString::to_string);
        let (all, files) = match self.sources.truth() {
            true => {
                let all = requests::of_sources(&self.sources)
                    .ok_or_else(|| Error::arguments("sources: this is no list of names and sources"))?;
                let saltenv = self.saltenv.as_deref().unwrap_or("base");
                let files = sources::look(machine, provider, &all, saltenv)?.map_err(Error::failed)?;
                (all, files)
            }
            false => (requests::of_call(self.name.as_deref(), &self.pkgs, version.as_deref())?, Vec::new()),
        };
        if all.is_empty() {
            return Err(Error::arguments("pkg.install: name at least one package"));
        }
        requests::sound_names(&all)?;
        if self.refresh.0 {
            refresh::refresh(machine, provider, 0.0)?.map_err(Error::failed)?;
        }
        let options = Options::read(&self.kwargs);
        let now = provider.packages(machine)?;
        let again = |request: &PackageRequest| self.reinstall.0 && !now.of(machine, provider, &request.name).is_empty();
        let (again, new): (Vec<PackageRequest>, Vec<PackageRequest>) = all.into_iter().partition(again);
        let ignore_epoch = Some(&self.ignore_epoch).filter(|value| !value.is_null()).map(Value::truth);
        let attempt = InstallAttempt {
            judge: Judge { provider, ignore_epoch },
            options: &options,
            targets: &new,
            reinstall: &again,
            files: &files,
            update_holds: self.update_holds.0,
        };
        let done = attempt.execute(machine)?;
        ended("installing package(s)", &done.report.errors, done.changes)
    }
}

/// An error that includes the changes made nevertheless.
fn ended(doing: &str, errors: &[String], changes: Map) -> Result<Map> {
    if errors.is_empty() {
        return Ok(changes);
    }
    let done = if changes.is_empty() { String::new() } else { format!("\nWhat was changed: {changes:?}") };
    Err(Error::failed(format!("Problem encountered {doing}. {}{done}", errors.join("\n"))))
}

/// Removes packages, and returns what has changed. Their configuration stays.
///
/// ```text
/// rocksalt '*' pkg.remove nginx
/// rocksalt '*' pkg.remove 'php8.2-*'
/// rocksalt '*' pkg.remove pkgs='["nginx", "nginx-common"]'
/// ```
#[function("pkg.remove", changes)]
pub struct Remove {
    /// The package, or several with commas; a star stands for any text.
    name: Option<String>,
    /// Several packages.
    pkgs: Value,
    /// Further options, as those of `pkg.installed`.
    kwargs: Map,
}

impl Function for Remove {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        uninstall(machine, self.name.as_deref(), &self.pkgs, &self.kwargs, false)
    }
}

/// Removes packages with their configuration, and returns what has changed.
///
/// ```text
/// rocksalt '*' pkg.purge nginx
/// ```
#[function("pkg.purge", changes)]
pub struct Purge {
    /// The package, or several with commas; a star stands for any text.
    name: Option<String>,
    /// Several packages.
    pkgs: Value,
    /// Further options, as those of `pkg.installed`.
    kwargs: Map,
}

impl Function for Purge {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        uninstall(machine, self.name.as_deref(), &self.pkgs, &self.kwargs, true)
    }
}

fn uninstall(machine: &dyn System, name: Option<&str>, pkgs: &Value, kwargs: &Map, purge: bool) -> Result<Map> {
    let provider = provider(machine)?;
    let requests = requests::of_call(name, pkgs, None)?;
    if requests.is_empty() {
        return Err(Error::arguments("name at least one package"));
    }
    let before = provider.packages(machine)?;
    let left = before.removed.keys().filter(|_| purge);
    let known: Vec<&String> = before.installed.keys().chain(before.purge_desired.keys()).chain(left).collect();
    let mut targets: Vec<TransactionPackage> = Vec::new();
    for request in &requests {
        let normal = provider.normal(machine, &request.name);
        let fits = |known: &&&String| match request.name.contains('*') {
            true => glob::matches(&request.name, known),
            false => known.as_str() == request.name || ***known == normal,
        };
        for name in known.iter().filter(fits) {
            if !targets.iter().any(|target| target.name == **name) {
                targets.push(TransactionPackage { name: (*name).clone(), version: None, file: None });
            }
        }
    }
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let verb = if purge { PackageOperation::Purge } else { PackageOperation::Remove };
    let transaction =
        PackageTransaction { verb, targets, downgrade: false, held: false, options: Options::read(kwargs) };
    let report = provider.execute(machine, &transaction)?;
    let after = provider.packages(machine)?;
    let installed = changes::between(&before.installed, &after.installed);
    let changes = match purge && provider.keeps_configuration() {
        true => changes::purge(installed, changes::between(&before.removed, &after.removed)),
        false => installed,
    };
    ended("removing package(s)", &report.errors, changes)
}

/// Upgrades all packages, and returns what has changed.
///
/// ```text
/// rocksalt '*' pkg.upgrade
/// rocksalt '*' pkg.upgrade refresh=False dist_upgrade=True
/// ```
#[function("pkg.upgrade", changes)]
pub struct Upgrade {
    /// Refresh the package lists first.
    #[default(true)]
    refresh: Flag,
    /// Whatever has to come or go for it may do so (apt's `dist-upgrade`).
    dist_upgrade: Flag,
    /// Only these.
    pkgs: Value,
    /// Further options, as those of `pkg.installed`.
    kwargs: Map,
}

impl Function for Upgrade {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let provider = provider(machine)?;
        let only = requests::of_call(None, &self.pkgs, None)?;
        requests::sound_names(&only)?;
        if self.refresh.0 {
            refresh::refresh(machine, provider, 0.0)?.map_err(Error::failed)?;
        }
        let targets = only
            .into_iter()
            .map(|request| TransactionPackage { name: request.name, version: None, file: None })
            .collect();
        let verb = if self.dist_upgrade.0 { PackageOperation::DistUpgrade } else { PackageOperation::Upgrade };
        let transaction =
            PackageTransaction { verb, targets, downgrade: false, held: false, options: Options::read(&self.kwargs) };
        let before = provider.packages(machine)?;
        let report = provider.execute(machine, &transaction)?;
        let after = provider.packages(machine)?;
        ended("upgrading packages", &report.errors, changes::between(&before.installed, &after.installed))
    }
}

/// Refreshes the package lists: for each whether it is new (`True`), unchanged (`None`) or failed (`False`).
///
/// ```text
/// rocksalt '*' pkg.refresh_db
/// rocksalt '*' pkg.refresh_db cache_valid_time=3600
/// ```
#[function("pkg.refresh_db", changes)]
pub struct RefreshDb {
    /// Package lists younger than this many seconds are not refreshed.
    #[default]
    cache_valid_time: f64,
    /// That one could not be fetched is an error.
    failhard: Flag,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for RefreshDb {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let provider = provider(machine)?;
        let fresh = |time: f64| time + self.cache_valid_time > machine.now();
        if self.cache_valid_time > 0.0 && provider.refreshed(machine).is_some_and(fresh) {
            return Ok(Map::new());
        }
        let found = provider.refresh(machine)?.map_err(Error::failed)?;
        let failed = found.iter().filter(|(_, result)| **result == Value::Bool(false));
        let failed: Vec<String> = failed.map(|(name, _)| name.to_string()).collect();
        if self.failhard.0 && !failed.is_empty() {
            return Err(Error::failed(format!("Error getting repos: {}", failed.join(", "))));
        }
        Ok(found)
    }
}

/// Holds packages: no upgrade changes them.
///
/// ```text
/// rocksalt '*' pkg.hold linux-image-amd64
/// rocksalt '*' pkg.hold pkgs='["nginx", "curl"]'
/// ```
#[function("pkg.hold", changes)]
pub struct Hold {
    /// The package.
    name: Option<String>,
    /// Several packages.
    pkgs: Value,
    /// Several packages, as `pkg.install` takes them.
    sources: Value,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for Hold {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        held(machine, self.name.as_deref(), &self.pkgs, &self.sources, true)
    }
}

/// Releases held packages.
///
/// ```text
/// rocksalt '*' pkg.unhold linux-image-amd64
/// ```
#[function("pkg.unhold", changes)]
pub struct Unhold {
    /// The package.
    name: Option<String>,
    /// Several packages.
    pkgs: Value,
    /// Several packages, as `pkg.install` takes them.
    sources: Value,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for Unhold {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        held(machine, self.name.as_deref(), &self.pkgs, &self.sources, false)
    }
}

fn held(machine: &dyn System, name: Option<&str>, pkgs: &Value, sources: &Value, hold: bool) -> Result<Map> {
    if pkgs.truth() && sources.truth() {
        return Err(Error::arguments("Only one of pkgs or sources can be specified."));
    }
    let requests = requests::of_call(name, if sources.truth() { sources } else { pkgs }, None)?;
    if requests.is_empty() {
        return Err(Error::arguments("One of name, pkgs, or sources must be specified."));
    }
    requests::sound_names(&requests)?;
    let provider: &dyn PackageProvider = provider(machine)?;
    let done = hold::execute(machine, provider, &requests, hold)?;
    Ok(done.iter().map(|one| (one.name.as_str().into(), one.to_value())).collect())
}
