//! Users and groups by name and by id.
//!
//! A static program has no name service switch, so this reads the files first, then asks `getent`, which uses it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Command, Probe};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub comment: String,
    pub home: String,
    pub shell: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub gid: u32,
    pub members: Vec<String>,
}

/// Finds a user by name, or by id if no name matches.
pub fn user(machine: &dyn Probe, key: &str) -> Option<User> {
    let by_name = |user: &User| user.name == key;
    let by_number = |user: &User| key.parse() == Ok(user.uid);
    let users = users(machine);
    users
        .iter()
        .find(|user| by_name(user))
        .or_else(|| users.iter().find(|user| by_number(user)))
        .cloned()
        .or_else(|| getent(machine, "passwd", key).as_deref().and_then(parse_user))
}

/// Finds a group by name, or by id if no name matches.
pub fn group(machine: &dyn Probe, key: &str) -> Option<Group> {
    let groups = groups(machine);
    groups
        .iter()
        .find(|group| group.name == key)
        .or_else(|| groups.iter().find(|group| key.parse() == Ok(group.gid)))
        .cloned()
        .or_else(|| getent(machine, "group", key).as_deref().and_then(parse_group))
}

/// The ids of all groups of a user, the primary one first.
pub fn groups_of(machine: &dyn Probe, user: &User) -> Vec<u32> {
    let member = |group: &Group| group.members.contains(&user.name) && group.gid != user.gid;
    let others = groups(machine).into_iter().filter(member).map(|group| group.gid);
    std::iter::once(user.gid).chain(others).collect()
}

/// The id of the user that this program runs as. After `su` and `sudo` variables may be wrong, so the kernel is asked.
pub fn own_uid(machine: &dyn Probe) -> u32 {
    let lines = lines(machine, "/proc/self/status");
    let ids = lines.iter().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    ids.split_whitespace().nth(1).and_then(|id| id.parse().ok()).unwrap_or(0)
}

/// All users of `/etc/passwd`.
pub fn users(machine: &dyn Probe) -> Vec<User> {
    lines(machine, "/etc/passwd").iter().filter_map(|line| parse_user(line)).collect()
}

/// All groups of `/etc/group`.
pub fn groups(machine: &dyn Probe) -> Vec<Group> {
    lines(machine, "/etc/group").iter().filter_map(|line| parse_group(line)).collect()
}

fn lines(machine: &dyn Probe, path: &str) -> Vec<String> {
    let content = machine.read(Path::new(path)).unwrap_or_default();
    String::from_utf8_lossy(&content).lines().map(str::to_owned).collect()
}

fn getent(machine: &dyn Probe, database: &str, key: &str) -> Option<String> {
    // The key may come from a user: it must not be taken for an option.
    if key.is_empty() || key.starts_with('-') || key.contains(['\n', '\0', ':']) {
        return None;
    }
    let output = machine.query(&Command::new(["getent", database, key])).ok()?;
    output.success().then(|| output.text().lines().next().unwrap_or_default().to_owned())
}

fn parse_user(line: &str) -> Option<User> {
    let mut fields = line.trim_end().split(':');
    let name = fields.next()?.to_owned();
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    let mut text = || fields.next().unwrap_or_default().to_owned();
    Some(User { name, uid, gid, comment: text(), home: text(), shell: text() })
}

fn parse_group(line: &str) -> Option<Group> {
    let mut fields = line.trim_end().split(':');
    let name = fields.next()?.to_owned();
    let gid = fields.nth(1)?.parse().ok()?;
    let members = fields.next().unwrap_or_default().split(',').filter(|member| !member.is_empty());
    Some(Group { name, gid, members: members.map(str::to_owned).collect() })
}
