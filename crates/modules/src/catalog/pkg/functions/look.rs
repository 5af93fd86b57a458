//! Functions that query packages, mostly for templates.

use std::cmp::Ordering;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::super::file::Flag;
use super::super::provider::{Options, PackageVersions, provider, sound};
use super::super::refresh;
use super::Function;
use crate::machine::{Probe, System};
use crate::text::glob;
use crate::{Error, Result};

/// The versions of each package, the oldest first.
fn packages(machine: &dyn Probe) -> Result<PackageVersions> {
    let packages = provider(machine)?.packages(machine)?;
    let mut all = packages.purge_desired.clone();
    all.extend(packages.installed.iter().map(|(name, versions)| (name.clone(), versions.clone())));
    Ok(all)
}

fn shown(versions: Vec<String>, as_list: bool) -> Value {
    match as_list {
        true => Value::List(versions.into_iter().map(Value::from).collect()),
        false => versions.join(",").into(),
    }
}

/// A single value replaces the map.
pub fn only_or_all(found: Map) -> Value {
    match found.len() {
        1 => found.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
        _ => Value::Map(found),
    }
}

/// Every installed package with its version.
///
/// ```text
/// rocksalt '*' pkg.list_pkgs
/// rocksalt '*' pkg.list_pkgs versions_as_list=True
/// ```
#[function("pkg.list_pkgs", reads)]
pub struct ListPkgs {
    /// Versions as lists, not as texts with commas.
    versions_as_list: bool,
    /// Instead those that were removed, but whose configuration is still there (apt).
    removed: Flag,
    /// Instead those that are there, but marked to be purged (apt).
    purge_desired: Flag,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for ListPkgs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let packages = match (self.removed.0, self.purge_desired.0) {
            (true, _) => provider(machine)?.packages(machine)?.removed.clone(),
            (false, true) => provider(machine)?.packages(machine)?.purge_desired.clone(),
            (false, false) => packages(machine)?,
        };
        Ok(packages.into_iter().map(|(name, versions)| (name.into(), shown(versions, self.versions_as_list))).collect())
    }
}

/// The installed version of a package, an empty text if it isn't; of several, or of a pattern, a map.
///
/// ```text
/// rocksalt '*' pkg.version bash
/// rocksalt '*' pkg.version bash zsh
/// rocksalt '*' pkg.version 'python3*'
/// ```
#[function("pkg.version", reads)]
pub struct Version {
    /// Names or patterns.
    #[rest]
    names: Vec<String>,
    /// Versions as lists, not as texts with commas.
    versions_as_list: bool,
    /// Accepted and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl Function for Version {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if self.names.is_empty() {
            return Ok(Value::Map(Map::new()));
        }
        let packages = packages(machine)?;
        let mut found = Map::new();
        let mut pattern = false;
        for name in self.names {
            if name.contains('*') {
                pattern = true;
                let fitting = packages.iter().filter(|(known, _)| glob::matches(&name, known));
                found
                    .extend(fitting.map(|(name, versions)| {
                        (name.as_str().into(), shown(versions.clone(), self.versions_as_list))
                    }));
            } else {
                let versions = packages.get(&name).cloned().unwrap_or_default();
                found.insert(name, shown(versions, self.versions_as_list));
            }
        }
        Ok(if pattern { Value::Map(found) } else { only_or_all(found) })
    }
}

/// The newest available version of a package; an empty text if it is installed.
///
/// ```text
/// rocksalt '*' pkg.latest_version bash
/// rocksalt '*' pkg.latest_version bash zsh
/// ```
///
/// The lists of what there is are taken as they are on the target, unless `refresh=True` is given.
#[function("pkg.latest_version", changes, also("pkg.available_version"))]
pub struct LatestVersion {
    /// Names.
    #[rest]
    names: Vec<String>,
    /// Also give a version that is installed already.
    show_installed: bool,
    /// Fetch the lists first.
    refresh: Flag,
    /// Further options, as those of `pkg.install`.
    kwargs: Map,
}

impl Function for LatestVersion {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if self.names.is_empty() {
            return Ok("".into());
        }
        let provider = provider(machine)?;
        for name in &self.names {
            sound(name)?;
        }
        if self.refresh.0 {
            refresh::refresh(machine, provider, 0.0)?.map_err(Error::failed)?;
        }
        let packages = provider.packages(machine)?;
        let newest = provider.candidates(machine, &self.names, &Options::read(&self.kwargs))?;
        let mut found = Map::new();
        for name in self.names {
            let newest = newest.get(&name).cloned().unwrap_or_default();
            let has = |version: &String| provider.compare(version, &newest) != Ordering::Less;
            let has = !newest.is_empty() && packages.of(machine, provider, &name).iter().any(has);
            found.insert(name, if has && !self.show_installed { String::new() } else { newest });
        }
        Ok(only_or_all(found))
    }
}

/// Which of two versions is newer: -1 if the second is, 0 if they are the same, 1 if the first is.
///
/// ```text
/// rocksalt '*' pkg.version_cmp 0.2.4-0ubuntu1 0.2.4.1-0ubuntu1
/// ```
#[function("pkg.version_cmp", reads)]
pub struct VersionCmp {
    /// A version.
    pkg1: String,
    /// Another.
    pkg2: String,
    /// Leave out what stands before a colon.
    ignore_epoch: bool,
}

impl Function for VersionCmp {
    type Output = i64;

    fn call(self, machine: &dyn System) -> Result<i64> {
        let version = |text: &str| match text.split_once(':') {
            Some((_, rest)) if self.ignore_epoch => rest.to_owned(),
            _ => text.to_owned(),
        };
        let order = provider(machine)?.compare(&version(&self.pkg1), &version(&self.pkg2));
        Ok(order as i64)
    }
}
