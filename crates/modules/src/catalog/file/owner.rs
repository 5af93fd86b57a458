//! Users and groups by name and number, and the functions that set owners and modes.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use super::path::{absolute, look, octal, parse_mode};
use super::stat::{group_name, user_name};
use crate::machine::{Probe, System, accounts};
use crate::{Error, Result};

/// The name of the user with a uid; the uid if there is none.
///
/// ```text
/// rocksalt '*' file.uid_to_user 0
/// ```
#[function("file.uid_to_user", reads)]
pub struct UidToUser {
    /// The number.
    #[required]
    uid: Value,
}

impl Function for UidToUser {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(number(&self.uid).map_or(self.uid, |uid| user_name(machine, uid)))
    }
}

/// The name of the group with a gid; the gid if there is none.
///
/// ```text
/// rocksalt '*' file.gid_to_group 0
/// ```
#[function("file.gid_to_group", reads)]
pub struct GidToGroup {
    /// The number.
    #[required]
    gid: Value,
}

impl Function for GidToGroup {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(number(&self.gid).map_or(self.gid, |gid| group_name(machine, gid)))
    }
}

/// The uid of a user; an empty text if there is no such user.
///
/// ```text
/// rocksalt '*' file.user_to_uid root
/// ```
#[function("file.user_to_uid", reads)]
pub struct UserToUid {
    /// The name.
    #[required]
    user: Value,
}

impl Function for UserToUid {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(uid(machine, &self.user).map_or(Value::from(""), Value::from))
    }
}

/// The gid of a group; an empty text if there is no such group.
///
/// ```text
/// rocksalt '*' file.group_to_gid root
/// ```
#[function("file.group_to_gid", reads)]
pub struct GroupToGid {
    /// The name.
    #[required]
    group: Value,
}

impl Function for GroupToGid {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(gid(machine, &self.group).map_or(Value::from(""), Value::from))
    }
}

/// Sets the owner and the group of a path.
///
/// ```text
/// rocksalt '*' file.chown /etc/passwd root root
/// ```
#[function("file.chown", changes)]
pub struct Chown {
    /// The path.
    path: String,
    /// The user's name or number; empty leaves it.
    #[required]
    user: Value,
    /// The group's name or number; empty leaves it.
    #[required]
    group: Value,
}

impl Function for Chown {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        give(machine, &self.path, &self.user, &self.group, true)
    }
}

/// Sets the owner and the group of a path; of a link itself, not of its target.
///
/// ```text
/// rocksalt '*' file.lchown /etc/passwd root root
/// ```
#[function("file.lchown", changes)]
pub struct Lchown {
    /// The path.
    path: String,
    /// The user's name or number; empty leaves it.
    #[required]
    user: Value,
    /// The group's name or number; empty leaves it.
    #[required]
    group: Value,
}

impl Function for Lchown {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        give(machine, &self.path, &self.user, &self.group, false)
    }
}

/// Sets the group of a path.
///
/// ```text
/// rocksalt '*' file.chgrp /etc/passwd root
/// ```
#[function("file.chgrp", changes)]
pub struct Chgrp {
    /// The path.
    path: String,
    /// The group's name or number.
    #[required]
    group: Value,
}

impl Function for Chgrp {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        give(machine, &self.path, &Value::Null, &self.group, true)
    }
}

/// Sets the mode of a path and returns it.
///
/// ```text
/// rocksalt '*' file.set_mode /etc/passwd 0644
/// ```
#[function("file.set_mode", changes, also("file.chmod"))]
pub struct SetMode {
    /// The path.
    path: String,
    /// In octal digits.
    mode: String,
}

impl Function for SetMode {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = absolute(machine, &self.path)?;
        let mode = parse_mode(&self.mode)?;
        if machine.stat(&path, true).map_err(|error| Error::io("look at", &path, &error))?.is_none() {
            return Err(Error::failed(format!("{}: File not found", path.display())));
        }
        machine.set_mode(&path, mode).map_err(|error| Error::io("set the mode of", &path, &error))?;
        Ok(octal(look(machine, &path, true)?.mode))
    }
}

/// Sets owner and group. Returns Salt's text for a failure, empty on success.
fn give(machine: &dyn System, path: &str, user: &Value, group: &Value, follow: bool) -> Result<Option<String>> {
    let path = absolute(machine, path)?;
    let mut fault = String::new();
    let (user_id, group_id) = (uid(machine, user), gid(machine, group));
    if named(user) && user_id.is_none() {
        fault.push_str("User does not exist\n");
    }
    if named(group) && group_id.is_none() {
        fault.push_str("Group does not exist\n");
    }
    if machine.stat(&path, follow).map_err(|error| Error::io("look at", &path, &error))?.is_none() {
        fault.push_str("File not found");
    }
    if !fault.is_empty() {
        return Err(Error::failed(format!(
            "could not give {} away: {}",
            path.display(),
            fault.trim_end().replace('\n', ", ")
        )));
    }
    set_owner(machine, &path, user_id.filter(|_| named(user)), group_id.filter(|_| named(group)), follow)?;
    Ok(None)
}

pub fn set_owner(
    machine: &dyn System,
    path: &std::path::Path,
    user: Option<u32>,
    group: Option<u32>,
    follow: bool,
) -> Result<()> {
    if user.is_none() && group.is_none() {
        return Ok(());
    }
    machine.set_owner(path, user, group, follow).map_err(|error| Error::io("set the owner of", path, &error))
}

/// The ids of a user and a group; an error if they don't exist.
pub fn owner(machine: &dyn Probe, user: &Value, group: &Value) -> Result<(Option<u32>, Option<u32>)> {
    let missing = |what: &str, name: &Value| Error::failed(format!("{what} '{name}' is not available"));
    let user = named(user).then(|| uid(machine, user).ok_or_else(|| missing("User", user))).transpose()?;
    let group = named(group).then(|| gid(machine, group).ok_or_else(|| missing("Group", group))).transpose()?;
    Ok((user, group))
}

pub fn named(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

pub fn uid(machine: &dyn Probe, user: &Value) -> Option<u32> {
    if !named(user) {
        return Some(accounts::own_uid(machine));
    }
    number(user).or_else(|| accounts::user(machine, &user.to_string()).map(|user| user.uid))
}

pub fn gid(machine: &dyn Probe, group: &Value) -> Option<u32> {
    if !named(group) {
        return None;
    }
    number(group).or_else(|| accounts::group(machine, &group.to_string()).map(|group| group.gid))
}

fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Int(number) => u32::try_from(*number).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
