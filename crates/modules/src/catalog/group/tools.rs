//! Changes groups with the shadow tools, or with busybox's if those are missing.

use rocksalt_core::Map;

use crate::catalog::user::tool::{self, texts, words};
use crate::machine::accounts::{self, Group};
use crate::machine::{Probe, System};

pub fn find(machine: &dyn Probe, name: &str) -> Option<Group> {
    accounts::group(machine, name).filter(|group| group.name == name)
}

pub fn info(group: &Group) -> Map {
    Map::from_iter([
        ("name".into(), group.name.as_str().into()),
        ("passwd".into(), "x".into()),
        ("gid".into(), group.gid.into()),
        ("members".into(), texts(group.members.iter().cloned())),
    ])
}

pub fn add(machine: &dyn System, name: &str, gid: Option<u32>, system: bool, non_unique: bool) -> Result<(), String> {
    let shadow = tool::is_there(machine, "groupadd");
    let mut argv = words(&[if shadow { "groupadd" } else { "addgroup" }]);
    if let Some(gid) = gid {
        argv.extend(["-g".to_owned(), gid.to_string()]);
        if non_unique && shadow {
            argv.push("-o".into());
        }
    }
    if system {
        argv.push(if shadow { "-r" } else { "-S" }.into());
    }
    argv.push(name.to_owned());
    tool::run(machine, &argv, None).map(drop)
}

pub fn delete(machine: &dyn System, name: &str) -> Result<(), String> {
    let program = if tool::is_there(machine, "groupdel") { "groupdel" } else { "delgroup" };
    tool::run(machine, &words(&[program, name]), None).map(drop)
}

pub fn change_gid(machine: &dyn System, name: &str, gid: u32, non_unique: bool) -> Result<(), String> {
    let mut argv = words(&["groupmod", "-g", &gid.to_string()]);
    if non_unique {
        argv.push("-o".into());
    }
    argv.push(name.to_owned());
    tool::run(machine, &argv, None).map(drop)
}

pub fn add_member(machine: &dyn System, group: &str, user: &str) -> Result<(), String> {
    let argv = match tool::is_there(machine, "gpasswd") {
        true => words(&["gpasswd", "--add", user, group]),
        false => words(&["addgroup", user, group]),
    };
    tool::run(machine, &argv, None).map(drop)
}

pub fn remove_member(machine: &dyn System, group: &str, user: &str) -> Result<(), String> {
    let argv = match tool::is_there(machine, "gpasswd") {
        true => words(&["gpasswd", "--del", user, group]),
        false => words(&["delgroup", user, group]),
    };
    tool::run(machine, &argv, None).map(drop)
}

pub fn set_members(machine: &dyn System, group: &str, users: &[String]) -> Result<(), String> {
    if tool::is_there(machine, "gpasswd") {
        return tool::run(machine, &words(&["gpasswd", "--members", &users.join(","), group]), None).map(drop);
    }
    let old = find(machine, group).map(|group| group.members).unwrap_or_default();
    old.iter().filter(|user| !users.contains(user)).try_for_each(|user| remove_member(machine, group, user))?;
    users.iter().filter(|user| !old.contains(user)).try_for_each(|user| add_member(machine, group, user))
}
