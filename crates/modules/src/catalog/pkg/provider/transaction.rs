//! [`PackageTransaction`]: an operation of a package manager.

use serde::{Deserialize, Serialize};

use crate::machine::bytes;

use std::path::PathBuf;
use std::sync::Arc;

use rocksalt_core::{Map, Value};

/// One transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackageTransaction {
    pub verb: PackageOperation,
    pub targets: Vec<TransactionPackage>,
    /// Allows a downgrade of a target.
    pub downgrade: bool,
    /// A target is held, and is released for this transaction.
    pub held: bool,
    pub options: Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PackageOperation {
    Install,
    Reinstall,
    Remove,
    Purge,
    /// Upgrades the given packages, or all; installs and removes nothing else.
    Upgrade,
    /// As upgrade, but may install and remove packages.
    DistUpgrade,
    /// Only downloads to the manager's cache.
    Download,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionPackage {
    pub name: String,
    pub version: Option<String>,
    /// A file to install instead of a repository's package.
    pub file: Option<PathBuf>,
}

/// Options of a transaction. Managers ignore options that they don't have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    pub fromrepo: Option<String>,
    pub skip_verify: bool,
    pub install_recommends: Option<bool>,
    pub only_upgrade: bool,
    /// Replaces configuration files by new versions, even changed ones.
    pub force_conf_new: bool,
    pub enablerepo: Vec<String>,
    pub disablerepo: Vec<String>,
    pub disableexcludes: Option<String>,
    pub setopt: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl Options {
    /// Parses the arguments of a call or a step.
    pub fn read(arguments: &Map) -> Options {
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        let text = |name: &str| given(name).filter(|value| value.truth()).map(ToString::to_string);
        let flag = |name: &str| given(name).is_some_and(Value::truth);
        Options {
            fromrepo: text("fromrepo").or_else(|| text("repo")),
            skip_verify: flag("skip_verify"),
            install_recommends: given("install_recommends").map(Value::truth),
            only_upgrade: flag("only_upgrade"),
            force_conf_new: flag("force_conf_new"),
            enablerepo: words(given("enablerepo")),
            disablerepo: words(given("disablerepo")),
            disableexcludes: text("disableexcludes"),
            setopt: words(given("setopt")),
            env: pairs(given("env")),
        }
    }
}

/// A list, or a comma-separated text.
fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::List(items)) => items.iter().map(ToString::to_string).collect(),
        Some(value) if value.truth() => {
            let text = value.to_string();
            text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// A map, or a list of maps.
fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let of = |map: &Map| map.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect::<Vec<_>>();
    match value {
        Some(Value::Map(map)) => of(map),
        Some(Value::List(items)) => items.iter().filter_map(Value::as_map).flat_map(of).collect(),
        _ => Vec::new(),
    }
}

/// A package file to inspect.
#[derive(Serialize, Deserialize)]
pub enum PackageArchive {
    Path(PathBuf),
    Content(#[serde(with = "bytes")] Arc<[u8]>),
}

/// The metadata of a package file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// The report of a transaction.
#[derive(Clone, Debug, Default)]
pub struct TransactionReport {
    /// The command and the whole output of each failed command.
    pub errors: Vec<String>,
    /// Additional steps: waiting, repairing.
    pub warnings: Vec<String>,
}
