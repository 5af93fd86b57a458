//! Functions that create directories.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use super::owner::{owner, set_owner};
use super::path::{absolute, kind, make_all, parse_mode};
use crate::Result;
use crate::machine::System;

/// Creates a directory and its parents; an existing one is fine.
///
/// ```text
/// rocksalt '*' file.mkdir /opt/jetty/context user=jetty mode=0750
/// ```
#[function("file.mkdir", changes)]
pub struct Mkdir {
    /// The directory.
    dir_path: String,
    /// The user it belongs to.
    user: Value,
    /// The group it belongs to.
    group: Value,
    /// Its mode in octal digits.
    mode: Option<String>,
}

impl Function for Mkdir {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = absolute(machine, &self.dir_path)?;
        make(machine, &path, &self.user, &self.group, self.mode.as_deref())?;
        Ok(true)
    }
}

/// Creates the directory that a path is in, and its parents.
///
/// ```text
/// rocksalt '*' file.makedirs /opt/code/
/// ```
///
/// End the path with a slash if it is to be made itself.
#[function("file.makedirs", changes)]
pub struct Makedirs {
    /// A path in the directory.
    path: String,
    /// The user that new directories belong to.
    user: Value,
    /// The group that they belong to.
    group: Value,
    /// Their mode in octal digits.
    mode: Option<String>,
}

impl Function for Makedirs {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        let whole = absolute(machine, &self.path)?;
        let path = if self.path.ends_with('/') { whole.as_path() } else { whole.parent().unwrap_or(Path::new("/")) };
        if kind(machine, path).is_some() {
            let name = path.to_string_lossy();
            return Ok(Some(format!("Directory '{}' already exists", name.trim_end_matches('/'))));
        }
        make(machine, path, &self.user, &self.group, self.mode.as_deref())?;
        Ok(None)
    }
}

/// Creates a directory and its parents with an owner and a mode.
///
/// ```text
/// rocksalt '*' file.makedirs_perms /opt/code mode=0700
/// ```
#[function("file.makedirs_perms", changes)]
pub struct MakedirsPerms {
    /// The directory.
    name: String,
    /// The user that it and new ones above belong to.
    user: Value,
    /// The group that they belong to.
    group: Value,
    /// Their mode in octal digits.
    #[default(usual())]
    mode: Option<String>,
}

fn usual() -> Option<String> {
    Some("0755".into())
}

impl Function for MakedirsPerms {
    type Output = ();

    fn call(self, machine: &dyn System) -> Result<()> {
        let path = absolute(machine, &self.name)?;
        make(machine, &path, &self.user, &self.group, self.mode.as_deref())
    }
}

fn make(machine: &dyn System, path: &Path, user: &Value, group: &Value, mode: Option<&str>) -> Result<()> {
    let (user, group) = owner(machine, user, group)?;
    let mode = mode.map(parse_mode).transpose()?;
    for made in make_all(machine, path, mode)? {
        set_owner(machine, &made, user, group, false)?;
    }
    Ok(())
}
