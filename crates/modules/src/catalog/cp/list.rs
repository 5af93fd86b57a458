//! What the controller's tree has.

use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::Function;
use super::source::{self, Source};
use crate::catalog::file::{self, sum_of};
use crate::machine::{Probe, System};
use crate::text::digest;
use crate::{Error, Result};

/// The files of the controller's tree.
///
/// ```text
/// rocksalt '*' cp.list_master prefix=nginx
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListMaster {
    /// Which files are meant.
    #[serde(default)]
    saltenv: Option<String>,
    /// Only those whose path begins so.
    #[serde(default)]
    prefix: String,
}

impl Function for ListMaster {
    const NAME: &'static str = "cp.list_master";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        files(machine, &self.prefix, &source::environment(machine, self.saltenv.as_deref())?)
    }
}

/// The directories of the controller's tree that have files.
///
/// ```text
/// rocksalt '*' cp.list_master_dirs
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListMasterDirs {
    /// Which files are meant.
    #[serde(default)]
    saltenv: Option<String>,
    /// Only those whose path begins so.
    #[serde(default)]
    prefix: String,
}

impl Function for ListMasterDirs {
    const NAME: &'static str = "cp.list_master_dirs";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let files = files(machine, &self.prefix, &source::environment(machine, self.saltenv.as_deref())?)?;
        let mut directories = std::collections::BTreeSet::new();
        for file in &files {
            for (end, _) in file.match_indices('/') {
                directories.insert(file[..end].to_owned());
            }
        }
        Ok(directories.into_iter().filter(|directory| directory.starts_with(&self.prefix)).collect())
    }
}

/// The names under which the tree's state files can be applied.
///
/// ```text
/// rocksalt '*' cp.list_states
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListStates {
    /// Which files are meant.
    #[serde(default)]
    saltenv: Option<String>,
}

impl Function for ListStates {
    const NAME: &'static str = "cp.list_states";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let files = files(machine, "", &source::environment(machine, self.saltenv.as_deref())?)?;
        let names = files.iter().filter_map(|file| file.strip_suffix(".sls"));
        let names = names.map(|name| name.strip_suffix("/init").unwrap_or(name).replace('/', "."));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// The checksum of a file of the controller's tree or of the target; an empty text if there is none.
///
/// ```text
/// rocksalt '*' cp.hash_file salt://path/to/file
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct HashFile {
    /// `salt://…` or a path on the target.
    path: String,
    /// Which files `salt://` means.
    #[serde(default)]
    saltenv: Option<String>,
}

impl Function for HashFile {
    const NAME: &'static str = "cp.hash_file";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let sum = match Source::parse(machine, &self.path, self.saltenv.as_deref())? {
            Source::Tree { path, saltenv } => source::tree_sum(machine, &path, &saltenv)?,
            Source::Local(path) => match machine.stat(&path, true) {
                Ok(Some(_)) => Some(sum_of(machine, &path, digest::Kind::Sha256)?),
                _ => None,
            },
            Source::Url(url) | Source::Given(url) => {
                return Err(Error::arguments(format!("the checksum of {url} is only known once it is fetched"))
                    .hint("`cp.cache_file` fetches it, `file.get_hash` gives the checksum of the copy"));
            }
        };
        Ok(sum.map_or(Value::from(""), |sum| {
            Map::from_iter([("hsum".into(), sum.into()), ("hash_type".into(), "sha256".into())]).into()
        }))
    }
}

/// The mode of a file of the target.
///
/// ```text
/// rocksalt '*' cp.stat_file /etc/hosts
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct StatFile {
    /// A path on the target; the controller doesn't tell the modes of its own files.
    path: String,
    /// Which files `salt://` means.
    #[serde(default)]
    saltenv: Option<String>,
    /// As a text of octal digits, not as a number.
    #[serde(default = "yes")]
    octal: bool,
}

fn yes() -> bool {
    true
}

impl Function for StatFile {
    const NAME: &'static str = "cp.stat_file";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let Source::Local(path) = Source::parse(machine, &self.path, self.saltenv.as_deref())? else {
            return Err(Error::arguments("the controller doesn't tell the modes of its files")
                .hint("give the path of a file on the target"));
        };
        match machine.stat(&path, true).map_err(|error| Error::io("look at", &path, &error))? {
            None => Ok(Value::Null),
            Some(stat) if self.octal => Ok(file::octal(stat.mode).into()),
            Some(stat) => Ok(file::full_mode(&stat).into()),
        }
    }
}

/// The files of a directory of the tree, those in directories below it too.
pub fn below(machine: &dyn Probe, path: &str, saltenv: &str) -> Result<Vec<String>> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    files(machine, &prefix, saltenv)
}

fn files(machine: &dyn Probe, prefix: &str, saltenv: &str) -> Result<Vec<String>> {
    let ask = Ask::ListFiles { saltenv: saltenv.to_owned(), prefix: prefix.to_owned() };
    let answer = machine.controller().ask(ask)?;
    let names = answer.as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    // The prefix may be a hint only to the controller.
    Ok(names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect())
}
