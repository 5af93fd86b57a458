//! What templates ask about packages.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rocksalt_core::sort::sort_by;
use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Function, Provider, provider};
use crate::Result;
use crate::machine::{Probe, System};
use crate::text::glob;

/// The versions of each package, the oldest first.
fn packages(machine: &dyn Probe, provider: &dyn Provider) -> Result<BTreeMap<String, Vec<String>>> {
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in provider.installed(machine)? {
        packages.entry(name).or_default().push(version);
    }
    for versions in packages.values_mut().filter(|versions| versions.len() > 1) {
        sort_by(versions, |one, other| provider.compare(machine, one, other).unwrap_or_else(|_| one.cmp(other)));
    }
    Ok(packages)
}

fn shown(versions: Vec<String>, as_list: bool) -> Value {
    match as_list {
        true => Value::List(versions.into_iter().map(Value::from).collect()),
        false => versions.join(",").into(),
    }
}

/// One answer stands for itself.
fn only_or_all(found: Map) -> Value {
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListPkgs {
    /// Versions as lists, not as texts with commas.
    #[serde(default)]
    versions_as_list: bool,
    /// Taken and ignored.
    #[allow(dead_code, reason = "taken for Salt's sake")]
    kwargs: Map,
}

impl Function for ListPkgs {
    const NAME: &'static str = "pkg.list_pkgs";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let packages = packages(machine, provider(machine)?)?;
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Version {
    /// Names or patterns.
    names: Vec<String>,
    /// Versions as lists, not as texts with commas.
    #[serde(default)]
    versions_as_list: bool,
    /// Taken and ignored.
    #[allow(dead_code, reason = "taken for Salt's sake")]
    kwargs: Map,
}

impl Function for Version {
    const NAME: &'static str = "pkg.version";
    const REST: &'static str = "names";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if self.names.is_empty() {
            return Ok(Value::Map(Map::new()));
        }
        let packages = packages(machine, provider(machine)?)?;
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

/// The newest version of a package that could be installed; an empty text if the installed one is it.
///
/// ```text
/// rocksalt '*' pkg.latest_version bash
/// rocksalt '*' pkg.latest_version bash zsh
/// ```
///
/// The lists of what there is are taken as they are on the target: nothing is refreshed.
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct LatestVersion {
    /// Names.
    names: Vec<String>,
    /// Also give a version that is installed already.
    #[serde(default)]
    show_installed: bool,
    /// Taken and ignored.
    #[allow(dead_code, reason = "taken for Salt's sake")]
    kwargs: Map,
}

impl Function for LatestVersion {
    const NAME: &'static str = "pkg.latest_version";
    const REST: &'static str = "names";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        if self.names.is_empty() {
            return Ok("".into());
        }
        let provider = provider(machine)?;
        let packages = packages(machine, provider)?;
        let mut found = Map::new();
        for name in self.names {
            let newest = provider.newest(machine, &name)?.unwrap_or_default();
            let mut has = false;
            for version in packages.get(&name).into_iter().flatten().filter(|_| !newest.is_empty()) {
                has |= provider.compare(machine, version, &newest)? != Ordering::Less;
            }
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct VersionCmp {
    /// A version.
    pkg1: String,
    /// Another.
    pkg2: String,
    /// Leave out what stands before a colon.
    #[serde(default)]
    ignore_epoch: bool,
}

impl Function for VersionCmp {
    const NAME: &'static str = "pkg.version_cmp";
    type Output = i64;

    fn call(self, machine: &dyn System) -> Result<i64> {
        let version = |text: &str| match text.split_once(':') {
            Some((_, rest)) if self.ignore_epoch => rest.to_owned(),
            _ => text.to_owned(),
        };
        let order = provider(machine)?.compare(machine, &version(&self.pkg1), &version(&self.pkg2))?;
        Ok(order as i64)
    }
}
