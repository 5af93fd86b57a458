//! The functions that read users.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::account::Account;
use crate::Result;
use crate::catalog::Function;
use crate::machine::{System, accounts};

/// Details of a user; an empty map if there is no such user.
///
/// ```text
/// rocksalt '*' user.info root
/// ```
#[function("user.info", reads)]
pub struct Info {
    /// The name.
    name: String,
}

impl Function for Info {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let groups = accounts::groups(machine);
        let found = Account::find(machine, &groups, &self.name);
        Ok(found.map(|account| account.info(machine, &groups)).unwrap_or_default())
    }
}

/// Details of every user of `/etc/passwd`.
///
/// ```text
/// rocksalt '*' user.getent
/// ```
#[function("user.getent", reads)]
pub struct Getent {
    /// Accepted for compatibility with Salt: it always looks.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    refresh: Value,
}

impl Function for Getent {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let groups = accounts::groups(machine);
        let users = accounts::users(machine).into_iter();
        Ok(users
            .map(|user| {
                let member = groups.iter().filter(|group| group.members.contains(&user.name));
                let member_of = member.map(|group| group.name.clone()).collect();
                Account { user, member_of }.info(machine, &groups)
            })
            .collect())
    }
}

/// The names of the groups that a user is in.
///
/// ```text
/// rocksalt '*' user.list_groups www-data
/// ```
#[function("user.list_groups", reads)]
pub struct ListGroups {
    /// The name.
    name: String,
}

impl Function for ListGroups {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let groups = accounts::groups(machine);
        let found = Account::find(machine, &groups, &self.name);
        Ok(found.map(|account| account.groups(machine, &groups)).unwrap_or_default())
    }
}

/// The names of all users of `/etc/passwd`, sorted.
///
/// ```text
/// rocksalt '*' user.list_users
/// ```
#[function("user.list_users", reads)]
pub struct ListUsers {}

impl Function for ListUsers {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names: Vec<String> = accounts::users(machine).into_iter().map(|user| user.name).collect();
        names.sort();
        Ok(names)
    }
}

/// The name of a user's primary group; an empty text if there is no such user.
///
/// ```text
/// rocksalt '*' user.primary_group www-data
/// ```
#[function("user.primary_group", reads)]
pub struct PrimaryGroup {
    /// The name.
    name: String,
}

impl Function for PrimaryGroup {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let Some(user) = accounts::user(machine, &self.name).filter(|user| user.name == self.name) else {
            return Ok(String::new());
        };
        Ok(accounts::group(machine, &user.gid.to_string()).map_or_else(|| user.gid.to_string(), |group| group.name))
    }
}
