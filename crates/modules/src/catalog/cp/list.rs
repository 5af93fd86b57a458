//! Functions that list the controller's tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use super::source::{self, ContentSource};
use crate::catalog::file::{self, sum_of};
use crate::machine::{EntryKind, Probe, System, TreeEntry};
use crate::text::digest;
use crate::{Error, Result};

/// The files of the controller's tree.
///
/// ```text
/// rocksalt '*' cp.list_master prefix=nginx
/// ```
#[function("cp.list_master", reads)]
pub struct ListMaster {
    /// The environment.
    saltenv: Option<String>,
    /// Only those whose path begins with this.
    #[default]
    prefix: String,
}

impl Function for ListMaster {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let listing = TreeListing::new(machine, &source::environment(machine, self.saltenv.as_deref())?)?;
        let prefix = self.prefix.trim_matches('/');
        Ok(listing.files().filter(|path| path.starts_with(prefix)).map(str::to_owned).collect())
    }
}

/// The directories of the controller's tree.
///
/// ```text
/// rocksalt '*' cp.list_master_dirs
/// ```
#[function("cp.list_master_dirs", reads)]
pub struct ListMasterDirs {
    /// The environment.
    saltenv: Option<String>,
    /// Only those whose path begins with this.
    #[default]
    prefix: String,
}

impl Function for ListMasterDirs {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let listing = TreeListing::new(machine, &source::environment(machine, self.saltenv.as_deref())?)?;
        let prefix = self.prefix.trim_matches('/');
        Ok(listing.directories().filter(|path| path.starts_with(prefix)).map(str::to_owned).collect())
    }
}

/// The symbolic links of the controller's tree, and where they lead.
///
/// ```text
/// rocksalt '*' cp.list_master_symlinks
/// ```
#[function("cp.list_master_symlinks", reads)]
pub struct ListMasterSymlinks {
    /// The environment.
    saltenv: Option<String>,
    /// Only those whose path begins with this.
    #[default]
    prefix: String,
}

impl Function for ListMasterSymlinks {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let saltenv = source::environment(machine, self.saltenv.as_deref())?;
        let prefix = self.prefix.trim_matches('/');
        let entries = machine.tree().entries(&saltenv)?;
        let links =
            entries.iter().filter(|entry| entry.path.starts_with(prefix)).filter_map(|entry| match &entry.kind {
                EntryKind::Link { target } => Some((entry.path.as_str().into(), target.as_str().into())),
                _ => None,
            });
        Ok(links.collect())
    }
}

/// The environments that the controller's tree has.
///
/// ```text
/// rocksalt '*' cp.envs
/// ```
#[function("cp.envs", reads)]
pub struct Envs {}

impl Function for Envs {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names = machine.tree().environments()?;
        names.sort();
        Ok(names)
    }
}

/// The names under which the tree's state files can be applied.
///
/// ```text
/// rocksalt '*' cp.list_states
/// ```
#[function("cp.list_states", reads)]
pub struct ListStates {
    /// The environment.
    saltenv: Option<String>,
}

impl Function for ListStates {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let listing = TreeListing::new(machine, &source::environment(machine, self.saltenv.as_deref())?)?;
        let names = listing.files().filter_map(|file| file.strip_suffix(".sls"));
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
#[function("cp.hash_file", reads)]
pub struct HashFile {
    /// `salt://…` or a path on the target.
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
}

impl Function for HashFile {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let sum = match ContentSource::parse(machine, &self.path, self.saltenv.as_deref())? {
            ContentSource::Tree { path, saltenv } => machine.tree().hash(&saltenv, &path)?,
            ContentSource::Local(path) => match machine.stat(&path, true) {
                Ok(Some(_)) => Some(sum_of(machine, &path, digest::DigestAlgorithm::Sha256)?),
                _ => None,
            },
            ContentSource::Url(url) | ContentSource::Given(url) => {
                return Err(Error::arguments(format!("the checksum of {url} is only known once it is fetched"))
                    .hint("`cp.cache_file` fetches it, `file.get_hash` gives the checksum of the copy"));
            }
        };
        Ok(sum.map_or(Value::from(""), |sum| {
            Map::from_iter([("hash_type".into(), "sha256".into()), ("hsum".into(), sum.into())]).into()
        }))
    }
}

/// The mode of a file of the controller's tree or of the target; nothing if there is no such file.
///
/// ```text
/// rocksalt '*' cp.stat_file salt://path/to/file
/// rocksalt '*' cp.stat_file /etc/hosts
/// ```
#[function("cp.stat_file", reads)]
pub struct StatFile {
    /// `salt://…` or a path on the target.
    path: String,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// As a text of octal digits, not as a number that has the kind of file in it.
    #[default(true)]
    octal: bool,
}

/// The type bits in the mode of a regular file.
const REGULAR: u32 = 0o100_000;

impl Function for StatFile {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let mode = match ContentSource::parse(machine, &self.path, self.saltenv.as_deref())? {
            ContentSource::Local(path) => {
                let stat = machine.stat(&path, true).map_err(|error| Error::io("look at", &path, &error))?;
                stat.map(|stat| file::full_mode(&stat))
            }
            ContentSource::Tree { path, saltenv } => {
                let entries = machine.tree().entries(&saltenv)?;
                let entry = entries.iter().find(|entry| entry.path == path);
                entry.and_then(|entry| match entry.kind {
                    EntryKind::File { mode, .. } => Some(REGULAR | mode),
                    // A link's own mode has no meaning.
                    EntryKind::Link { .. } => Some(REGULAR | 0o644),
                    EntryKind::Directory => None,
                })
            }
            ContentSource::Url(url) | ContentSource::Given(url) => {
                return Err(Error::arguments(format!("the mode of {url} is not known"))
                    .hint("give a salt:// address, or the path of a file on the target"));
            }
        };
        Ok(match mode {
            None => Value::Null,
            Some(mode) if self.octal => file::octal(mode & 0o7777).into(),
            Some(mode) => mode.into(),
        })
    }
}

/// The entries of an environment, by type.
pub struct TreeListing {
    entries: Arc<Vec<TreeEntry>>,
    directories: BTreeSet<String>,
}

impl TreeListing {
    pub fn new(machine: &dyn Probe, saltenv: &str) -> Result<TreeListing> {
        let entries = machine.tree().entries(saltenv)?;
        let mut directories = BTreeSet::new();
        for entry in entries.iter() {
            if entry.kind == EntryKind::Directory {
                directories.insert(entry.path.clone());
            }
            // From the innermost directory outwards, up to a known one.
            let mut ends: Vec<usize> = entry.path.match_indices('/').map(|(end, _)| end).collect();
            while let Some(end) = ends.pop()
                && directories.insert(entry.path[..end].to_owned())
            {}
        }
        Ok(TreeListing { entries, directories })
    }

    /// Files, and links to files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().filter(|entry| entry.kind != EntryKind::Directory);
        entries.map(|entry| entry.path.as_str()).filter(|path| !self.directories.contains(*path))
    }

    pub fn directories(&self) -> impl Iterator<Item = &str> {
        self.directories.iter().map(String::as_str)
    }

    pub fn has_file(&self, path: &str) -> bool {
        self.files().any(|known| known == path)
    }

    pub fn has_directory(&self, path: &str) -> bool {
        self.directories.contains(path)
    }
}

/// The files below a directory of the tree, including subdirectories.
pub fn below(machine: &dyn Probe, path: &str, saltenv: &str) -> Result<Vec<String>> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let listing = TreeListing::new(machine, saltenv)?;
    Ok(listing.files().filter(|file| file.starts_with(&prefix)).map(str::to_owned).collect())
}
