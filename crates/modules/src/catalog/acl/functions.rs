//! The functions of `acl`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::list::{self, Acl, EntrySelector};
use crate::catalog::Function;
use crate::machine::System;
use crate::{Error, Result};

/// The access lists of paths.
///
/// ```text
/// rocksalt '*' acl.getfacl /tmp/house/kitchen
/// rocksalt '*' acl.getfacl /srv recursive=True
/// ```
#[function("acl.getfacl", reads)]
pub struct Getfacl {
    /// The paths.
    args: Vec<String>,
    /// Include everything below them.
    recursive: bool,
}

impl Function for Getfacl {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let lists = Acl::read(machine, &self.args, self.recursive)?;
        Ok(lists.iter().map(|list| (list.path.as_str().into(), Value::Map(list.shown()))).collect())
    }
}

/// Sets an entry of the access lists of paths.
///
/// ```text
/// rocksalt '*' acl.modfacl user alice rwx /srv/data
/// rocksalt '*' acl.modfacl default:group ops rx /srv/data recursive=True
/// ```
#[function("acl.modfacl", changes)]
pub struct Modfacl {
    /// `user`, `group`, `mask`, `other`; with `default:` before it what new files get.
    acl_type: String,
    /// The user or group of the entry.
    acl_name: String,
    /// The permissions: `rwx`.
    perms: String,
    /// The paths.
    args: Vec<String>,
    /// Include everything below them.
    recursive: bool,
    /// Accepted and ignored: it always fails if it fails.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    raise_err: Value,
}

impl Function for Modfacl {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let wanted = wanted(&self.acl_type, &self.acl_name, &self.args)?;
        list::check_word("perms", &self.perms)?;
        list::set(machine, &wanted, &self.acl_name, &self.perms, &self.args, self.recursive).map_err(Error::failed)?;
        Ok(true)
    }
}

/// Removes an entry of the access lists of paths.
///
/// ```text
/// rocksalt '*' acl.delfacl user alice /srv/data
/// ```
#[function("acl.delfacl", changes)]
pub struct Delfacl {
    /// `user`, `group` …; with `default:` before it what new files get.
    acl_type: String,
    /// The user or group of the entry.
    acl_name: String,
    /// The paths.
    args: Vec<String>,
    /// Include everything below them.
    recursive: bool,
}

impl Function for Delfacl {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let wanted = wanted(&self.acl_type, &self.acl_name, &self.args)?;
        list::remove(machine, &wanted, &self.acl_name, &self.args, self.recursive).map_err(Error::failed)?;
        Ok(true)
    }
}

/// Removes all extended entries of the access lists of paths.
///
/// ```text
/// rocksalt '*' acl.wipefacls /srv/data recursive=True
/// ```
#[function("acl.wipefacls", changes)]
pub struct Wipefacls {
    /// The paths.
    args: Vec<String>,
    /// Include everything below them.
    recursive: bool,
}

impl Function for Wipefacls {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        wanted("user", "", &self.args)?;
        list::wipe(machine, &self.args, self.recursive).map_err(Error::failed)?;
        Ok(true)
    }
}

/// The version of the tools.
///
/// ```text
/// rocksalt '*' acl.version
/// ```
#[function("acl.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let output = crate::catalog::user::tool::ask(machine, &["getfacl", "--version"])
            .ok_or_else(|| Error::failed("Command 'getfacl' cannot be found").hint("install the package acl"))??;
        Ok(output.text().split_whitespace().nth(1).unwrap_or_default().to_owned())
    }
}

fn wanted(acl_type: &str, acl_name: &str, paths: &[String]) -> Result<EntrySelector> {
    if paths.is_empty() {
        return Err(Error::arguments("You need to specify at least one file or directory to work with!"));
    }
    list::check_word("acl_name", acl_name)?;
    EntrySelector::parse(acl_type).ok_or_else(|| Error::arguments("ACL Type does not exist"))
}
