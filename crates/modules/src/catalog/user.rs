//! `user`: the users of a target.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::Result;
use crate::machine::accounts::{self, User};
use crate::machine::{Probe, System};

pub const FUNCTIONS: &[Entry] =
    &[entry::<Info>(), entry::<ListGroups>(), entry::<ListUsers>(), entry::<PrimaryGroup>()];

/// By name alone: `accounts::user` takes a number, too.
fn named(machine: &dyn Probe, name: &str) -> Option<User> {
    accounts::user(machine, name).filter(|user| user.name == name)
}

/// The names of a user's groups, sorted.
fn groups(machine: &dyn Probe, user: &User) -> Vec<String> {
    let numbers = accounts::groups_of(machine, user);
    let mut names: Vec<String> = numbers
        .into_iter()
        .map(|number| {
            accounts::group(machine, &number.to_string()).map_or_else(|| number.to_string(), |group| group.name)
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What is known of a user; an empty map if there is none of that name.
///
/// ```text
/// rocksalt '*' user.info root
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Info {
    /// The name.
    name: String,
}

impl Function for Info {
    const NAME: &'static str = "user.info";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Some(user) = named(machine, &self.name) else { return Ok(Map::new()) };
        let groups: Vec<Value> = groups(machine, &user).into_iter().map(Value::from).collect();
        let mut comment = user.comment.splitn(5, ',').map(Value::from);
        let mut part = || comment.next().unwrap_or_else(|| "".into());
        Ok(Map::from_iter([
            ("gid".into(), user.gid.into()),
            ("groups".into(), groups.into()),
            ("home".into(), user.home.into()),
            ("name".into(), user.name.into()),
            // Passwords are elsewhere, on every system of this century.
            ("passwd".into(), "x".into()),
            ("shell".into(), user.shell.into()),
            ("uid".into(), user.uid.into()),
            ("fullname".into(), part()),
            ("roomnumber".into(), part()),
            ("workphone".into(), part()),
            ("homephone".into(), part()),
            ("other".into(), part()),
        ]))
    }
}

/// The names of the groups that a user is in.
///
/// ```text
/// rocksalt '*' user.list_groups www-data
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListGroups {
    /// The name.
    name: String,
}

impl Function for ListGroups {
    const NAME: &'static str = "user.list_groups";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(named(machine, &self.name).map(|user| groups(machine, &user)).unwrap_or_default())
    }
}

/// The names of all users of `/etc/passwd`, sorted.
///
/// ```text
/// rocksalt '*' user.list_users
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListUsers {}

impl Function for ListUsers {
    const NAME: &'static str = "user.list_users";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut names: Vec<String> = accounts::users(machine).into_iter().map(|user| user.name).collect();
        names.sort();
        Ok(names)
    }
}

/// The name of a user's own group; an empty text if there is no such user.
///
/// ```text
/// rocksalt '*' user.primary_group www-data
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct PrimaryGroup {
    /// The name.
    name: String,
}

impl Function for PrimaryGroup {
    const NAME: &'static str = "user.primary_group";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let Some(user) = named(machine, &self.name) else { return Ok(String::new()) };
        Ok(accounts::group(machine, &user.gid.to_string()).map_or_else(|| user.gid.to_string(), |group| group.name))
    }
}
