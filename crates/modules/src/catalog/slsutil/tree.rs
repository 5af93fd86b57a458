//! Functions that look for files in the controller's tree.

use rocksalt_core::Value;
use rocksalt_macros::{arguments, function};

use super::Function;
use crate::catalog::cp::TreeListing;
use crate::machine::System;
use crate::{Error, Result};

/// A path of the tree.
#[arguments]
pub struct TreeLookup {
    /// The path, without `salt://`.
    path: String,
    /// The environment.
    #[default("base")]
    saltenv: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    File,
    Directory,
    Either,
}

/// Only exact paths of the tree exist: no slash at the end, no dots.
fn is_there(machine: &dyn System, path: &str, saltenv: &str, what: Is) -> Result<bool> {
    let listing = TreeListing::new(machine, saltenv)?;
    Ok(what != Is::Directory && listing.has_file(path) || what != Is::File && listing.has_directory(path))
}

impl TreeLookup {
    fn exists(self, machine: &dyn System, what: Is) -> Result<bool> {
        is_there(machine, &self.path, &self.saltenv, what)
    }
}

/// Whether a directory is in the controller's tree.
///
/// ```text
/// rocksalt '*' slsutil.dir_exists nginx/files
/// ```
#[function("slsutil.dir_exists", reads, call = TreeLookup::exists(Is::Directory) -> bool)]
pub struct DirExists(TreeLookup);

/// Whether a file is in the controller's tree.
///
/// ```text
/// rocksalt '*' slsutil.file_exists nginx/init.sls
/// ```
#[function("slsutil.file_exists", reads, call = TreeLookup::exists(Is::File) -> bool)]
pub struct FileExists(TreeLookup);

/// Whether a file or a directory is in the controller's tree.
///
/// ```text
/// rocksalt '*' slsutil.path_exists nginx
/// ```
#[function("slsutil.path_exists", reads, call = TreeLookup::exists(Is::Either) -> bool)]
pub struct PathExists(TreeLookup);

/// The nearest of some files in a directory of the tree and those above it.
///
/// ```text
/// rocksalt '*' slsutil.findup nginx/sites map.jinja
/// rocksalt '*' slsutil.findup nginx/sites '[local.map, map.jinja]'
/// ```
#[function("slsutil.findup", reads)]
pub struct Findup {
    /// The directory, or a file in it.
    #[required]
    startpath: Option<String>,
    /// Names of files; the first that is there wins.
    #[required]
    filenames: Value,
    /// The environment.
    #[default("base")]
    saltenv: String,
}

impl Function for Findup {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let mut place = normal(self.startpath.as_deref().unwrap_or_default());
        let there = |path: &str| is_there(machine, path, &self.saltenv, Is::Either);
        if !place.is_empty() && !there(&place)? {
            return Err(Error::arguments(format!("Starting path not found in the state tree: {place}")));
        }
        let names: Vec<String> = match &self.filenames {
            Value::List(names) => names.iter().map(ToString::to_string).collect(),
            Value::String(name) => vec![name.clone()],
            _ => return Err(Error::arguments("Filenames argument must be a string or list of strings")),
        };
        loop {
            for name in &names {
                let path = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
                if there(&path)? {
                    return Ok(path);
                }
            }
            if place.is_empty() {
                return Err(Error::failed("File pattern(s) not found in path ancestry"));
            }
            place.truncate(place.rfind('/').unwrap_or(0));
        }
    }
}

/// A normalised path.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    // As in Python's `normpath`, the top is `.`, which no path in a tree is called.
    if joined.is_empty() && !path.is_empty() { ".".into() } else { joined }
}
