//! What a package manager is asked to do.

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
    /// A target may become older.
    pub downgrade: bool,
    /// A target is held, and will be let go for it.
    pub held: bool,
    pub options: Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PackageOperation {
    Install,
    Reinstall,
    Remove,
    Purge,
    /// Those given, or all if none are; nothing new, nothing removed.
    Upgrade,
    /// As upgrade, whatever has to come or go for it.
    DistUpgrade,
    /// Into the manager's cache, and nothing else.
    Download,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionPackage {
    pub name: String,
    pub version: Option<String>,
    /// Instead of a repository's.
    pub file: Option<PathBuf>,
}

/// How it is done. Managers ignore what they don't have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    pub fromrepo: Option<String>,
    pub skip_verify: bool,
    pub install_recommends: Option<bool>,
    pub only_upgrade: bool,
    /// New versions of configuration files, even over changed ones.
    pub force_conf_new: bool,
    pub enablerepo: Vec<String>,
    pub disablerepo: Vec<String>,
    pub disableexcludes: Option<String>,
    pub setopt: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl Options {
    /// From arguments of a call or a step.
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

/// A package file to look at.
#[derive(Serialize, Deserialize)]
pub enum PackageArchive {
    Path(PathBuf),
    Content(#[serde(with = "bytes")] Arc<[u8]>),
}

/// What a package file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// How a transaction went.
#[derive(Clone, Debug, Default)]
pub struct TransactionReport {
    /// What was run and all that it said, of each command that failed.
    pub errors: Vec<String>,
    /// What was done besides: waiting, repairing.
    pub warnings: Vec<String>,
}
