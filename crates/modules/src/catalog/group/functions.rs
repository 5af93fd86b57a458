//! The functions of `group`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::tools;
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::catalog::user::tool::{self, check_name};
use crate::machine::{System, accounts};
use crate::{Error, Result};

/// Details of a group; an empty map if there is no such group.
///
/// ```text
/// rocksalt '*' group.info www-data
/// ```
#[function("group.info", reads)]
pub struct Info {
    /// The name.
    name: String,
}

impl Function for Info {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(tools::find(machine, &self.name).map(|group| tools::info(&group)).unwrap_or_default())
    }
}

/// Details of every group of `/etc/group`.
///
/// ```text
/// rocksalt '*' group.getent
/// ```
#[function("group.getent", reads)]
pub struct Getent {
    /// Accepted for compatibility with Salt: it always looks.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    refresh: Value,
}

impl Function for Getent {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        Ok(accounts::groups(machine).iter().map(tools::info).collect())
    }
}

/// Creates a group.
///
/// ```text
/// rocksalt '*' group.add deploy 3456
/// ```
#[function("group.add", changes)]
pub struct Add {
    /// The name.
    name: String,
    /// Its number.
    gid: Option<u32>,
    /// Take a number of those for the system's own groups.
    system: Flag,
    /// Not supported: only the running system is changed.
    root: Value,
    /// Whether another group may have the same gid.
    non_unique: Flag,
}

impl Function for Add {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        check_name("group", &self.name)?;
        tool::refuse(&[("root", &self.root)])?;
        done(tools::add(machine, &self.name, self.gid, self.system.0, self.non_unique.0))
    }
}

/// Removes a group.
///
/// ```text
/// rocksalt '*' group.delete deploy
/// ```
#[function("group.delete", changes)]
pub struct Delete {
    /// The name.
    name: String,
}

impl Function for Delete {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        check_name("group", &self.name)?;
        done(tools::delete(machine, &self.name))
    }
}

/// Changes a group's gid. Files keep the old one.
///
/// ```text
/// rocksalt '*' group.chgid deploy 4376
/// ```
#[function("group.chgid", changes)]
pub struct Chgid {
    /// The name.
    name: String,
    /// The new number.
    gid: u32,
    /// Not supported: only the running system is changed.
    root: Value,
    /// Whether another group may have the same gid.
    non_unique: Flag,
}

impl Function for Chgid {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        tool::refuse(&[("root", &self.root)])?;
        match tools::find(machine, &self.name) {
            None => Err(Error::failed(format!("Group '{}' does not exist", self.name))),
            Some(group) if group.gid == self.gid => Ok(true),
            Some(_) => done(tools::change_gid(machine, &self.name, self.gid, self.non_unique.0)),
        }
    }
}

/// Adds a user to a group.
///
/// ```text
/// rocksalt '*' group.adduser deploy alice
/// ```
#[function("group.adduser", changes)]
pub struct Adduser {
    /// The group's name.
    name: String,
    /// The user's name.
    username: String,
}

impl Function for Adduser {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        check_name("group", &self.name)?;
        check_name("user", &self.username)?;
        done(tools::add_member(machine, &self.name, &self.username))
    }
}

/// Removes a user from a group; true as well if it isn't a member.
///
/// ```text
/// rocksalt '*' group.deluser deploy alice
/// ```
#[function("group.deluser", changes)]
pub struct Deluser {
    /// The group's name.
    name: String,
    /// The user's name.
    username: String,
}

impl Function for Deluser {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        match tools::find(machine, &self.name) {
            Some(group) if group.members.contains(&self.username) => {
                done(tools::remove_member(machine, &self.name, &self.username))
            }
            _ => Ok(true),
        }
    }
}

/// Sets all members of a group.
///
/// ```text
/// rocksalt '*' group.members deploy 'alice,bob'
/// ```
#[function("group.members", changes)]
pub struct Members {
    /// The group's name.
    name: String,
    /// The users' names, as a list or a comma-separated text.
    #[required]
    members_list: Vec<String>,
}

impl Function for Members {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        check_name("group", &self.name)?;
        let users = self.members_list.iter().flat_map(|users| users.split(',')).map(str::trim);
        let users: Vec<String> = users.filter(|user| !user.is_empty()).map(str::to_owned).collect();
        users.iter().try_for_each(|user| check_name("user", user))?;
        done(tools::set_members(machine, &self.name, &users))
    }
}

fn done(outcome: Result<(), String>) -> Result<bool> {
    outcome.map(|()| true).map_err(Error::failed)
}
