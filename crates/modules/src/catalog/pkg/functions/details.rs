//! Functions that describe single packages.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::super::file::Flag;
use super::super::provider::{Options, provider, sound};
use super::super::refresh;
use super::Function;
use super::look::only_or_all;
use crate::machine::System;
use crate::{Error, Result};

/// The package that owns a path, or an empty text; for several paths a map.
///
/// ```text
/// rocksalt '*' pkg.owner /usr/bin/apt
/// rocksalt '*' pkg.owner /usr/bin/apt /etc/passwd
/// ```
#[function("pkg.owner", reads)]
pub struct Owner {
    /// Paths.
    #[rest]
    paths: Vec<String>,
}

impl Function for Owner {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if self.paths.is_empty() {
            return Ok("".into());
        }
        let provider = provider(machine)?;
        let mut found = Map::new();
        for path in self.paths {
            let owner = provider.owner(machine, Path::new(&path))?;
            found.insert(path, owner);
        }
        Ok(only_or_all(found))
    }
}

/// The files of packages, of all in one list.
///
/// ```text
/// rocksalt '*' pkg.file_list nginx
/// ```
#[function("pkg.file_list", reads)]
pub struct FileList {
    /// Names; none means all packages.
    #[rest]
    packages: Vec<String>,
}

impl Function for FileList {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let (errors, found) = files(machine, &self.packages);
        let mut all: Vec<String> = found.into_values().flatten().collect();
        all.sort();
        all.dedup();
        Ok(Map::from_iter([("errors".into(), errors.into()), ("files".into(), all.into())]))
    }
}

/// The files of packages, by package.
///
/// ```text
/// rocksalt '*' pkg.file_dict nginx
/// ```
#[function("pkg.file_dict", reads)]
pub struct FileDict {
    /// Names; none means all packages.
    #[rest]
    packages: Vec<String>,
}

impl Function for FileDict {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let (errors, found) = files(machine, &self.packages);
        let found: Map = found.into_iter().map(|(name, files)| (name.into(), files.into())).collect();
        Ok(Map::from_iter([("errors".into(), errors.into()), ("packages".into(), found.into())]))
    }
}

fn files(machine: &dyn System, names: &[String]) -> (Vec<String>, std::collections::BTreeMap<String, Vec<String>>) {
    match provider(machine).and_then(|provider| provider.files(machine, names)) {
        Ok(found) => (Vec::new(), found),
        Err(error) => (vec![error.to_string()], std::collections::BTreeMap::new()),
    }
}

/// Details of installed packages.
///
/// ```text
/// rocksalt '*' pkg.info_installed bash
/// rocksalt '*' pkg.info_installed bash zsh failhard=False
/// ```
#[function("pkg.info_installed", reads)]
pub struct InfoInstalled {
    /// Names; none means all packages.
    #[rest]
    names: Vec<String>,
    /// That one is not installed is an error.
    #[default(true)]
    failhard: Flag,
}

impl Function for InfoInstalled {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let provider = provider(machine)?;
        if self.failhard.0 {
            return provider.info(machine, &self.names);
        }
        let now = provider.packages(machine)?;
        let there: Vec<String> = self.names.iter().filter(|name| now.installed.contains_key(*name)).cloned().collect();
        match there.is_empty() && !self.names.is_empty() {
            true => Ok(Map::new()),
            false => provider.info(machine, &there),
        }
    }
}

/// The packages that an upgrade would change, with their new versions.
///
/// ```text
/// rocksalt '*' pkg.list_upgrades
/// rocksalt '*' pkg.list_upgrades refresh=False
/// ```
#[function("pkg.list_upgrades", changes)]
pub struct ListUpgrades {
    /// Refresh the package lists first.
    #[default(true)]
    refresh: Flag,
    /// With all that has to come or go for it.
    #[default(true)]
    dist_upgrade: Flag,
    /// Further options, as those of `pkg.install`.
    kwargs: Map,
}

impl Function for ListUpgrades {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let provider = provider(machine)?;
        if self.refresh.0 {
            refresh::refresh(machine, provider, 0.0)?.map_err(Error::failed)?;
        }
        let found = provider.upgrades(machine, &Options::read(&self.kwargs), self.dist_upgrade.0)?;
        let found = found.map_err(|said| Error::failed(format!("Failed to get upgrades: {said}")))?;
        Ok(found.into_iter().map(|(name, version)| (name.into(), version.into())).collect())
    }
}

/// Whether a newer version of a package is available. The package lists are not refreshed.
///
/// ```text
/// rocksalt '*' pkg.upgrade_available bash
/// ```
#[function("pkg.upgrade_available", reads)]
pub struct UpgradeAvailable {
    /// The package.
    name: String,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for UpgradeAvailable {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let provider = provider(machine)?;
        let newest = provider.candidates(machine, std::slice::from_ref(&self.name), &Options::default())?;
        let now = provider.packages(machine)?;
        let installed = now.of(machine, provider, &self.name);
        Ok(newest
            .get(&self.name)
            .is_some_and(|newest| !installed.iter().any(|version| provider.compare(version, newest).is_ge())))
    }
}

/// The packages that are held.
///
/// ```text
/// rocksalt '*' pkg.list_holds
/// ```
#[function("pkg.list_holds", reads)]
pub struct ListHolds {
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for ListHolds {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(provider(machine)?.holds(machine)?.into_keys().collect())
    }
}

/// The available versions of packages, the newest first.
///
/// ```text
/// rocksalt '*' pkg.list_repo_pkgs bash
/// rocksalt '*' pkg.list_repo_pkgs bash zsh
/// ```
#[function("pkg.list_repo_pkgs", changes)]
pub struct ListRepoPkgs {
    /// Names.
    #[rest]
    names: Vec<String>,
    /// Further options, as those of `pkg.install`.
    kwargs: Map,
}

impl Function for ListRepoPkgs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        if self.names.is_empty() {
            return Err(Error::arguments("pkg.list_repo_pkgs: name at least one package"));
        }
        for name in &self.names {
            sound(name)?;
        }
        let found = provider(machine)?.versions(machine, &self.names, &Options::read(&self.kwargs))?;
        let found = found.into_iter().filter(|(_, versions)| !versions.is_empty());
        Ok(found.map(|(name, versions)| (name.into(), versions.into())).collect())
    }
}

/// The name of a package without the machine's own architecture.
///
/// ```text
/// rocksalt '*' pkg.normalize_name zsh:amd64
/// ```
#[function("pkg.normalize_name", reads)]
pub struct NormalizeName {
    /// The name.
    name: String,
}

impl Function for NormalizeName {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(provider(machine)?.normal(machine, &self.name))
    }
}
