//! [`PermissionsSpec`]: the owner, group and mode of a path, and what differs from them.

use rocksalt_core::{Map, Value};

use super::super::owner::named;
use super::super::path::octal;
use super::super::stat::{group_name, user_name};
use super::{Action, look, selinux};
use crate::catalog::file::owner;
use crate::machine::{Command, FileKind, Probe, Stat};

/// The requested attributes. Null or missing ones are left unchanged.
#[derive(Clone, Default)]
pub struct PermissionsSpec {
    pub user: Value,
    pub group: Value,
    /// Four octal digits, as [`mode`] formats them.
    pub mode: Option<String>,
    pub attrs: Option<String>,
    pub selinux: selinux::SelinuxContext,
    /// Whether to apply to the target of a link.
    pub follow: bool,
}

/// Formats a mode as users write it (`644`, `'0644'`, `0o644`) as four octal digits.
pub fn mode(value: &Value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let text = value.to_string().replace("0o", "0");
    let bare = text.trim_matches('"').trim_matches('\'').trim_start_matches('0');
    Some(format!("{bare:0>4}"))
}

/// Parses a mode; `None` if these are not octal digits.
pub fn bits(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o7777)
}

/// Salt's text for unknown owners; empty in a dry run, since an earlier step may create them.
pub fn check_owners(machine: &dyn Probe, user: &Value, group: &Value, test: bool) -> Option<String> {
    let mut fault = String::new();
    if user.truth() && owner::uid(machine, user).is_none() {
        fault.push_str(&format!("User {user} is not available "));
    }
    if group.truth() && owner::gid(machine, group).is_none() {
        fault.push_str(&format!("Group {group} is not available"));
    }
    (!fault.is_empty() && !test).then_some(fault)
}

/// The ids of a user and a group, if they are given.
pub fn numbers(machine: &dyn Probe, user: &Value, group: &Value) -> (Option<u32>, Option<u32>) {
    let user = named(user).then(|| owner::uid(machine, user)).flatten();
    let group = named(group).then(|| owner::gid(machine, group)).flatten();
    (user, group)
}

/// The required actions on a path, and the changes that they make.
#[derive(Default)]
pub struct Mending {
    pub changes: Map,
    pub actions: Vec<Action>,
    /// Why something could not be read.
    pub faults: Vec<String>,
}

impl PermissionsSpec {
    /// Compares with the attributes of a path; `stat` is of the link or its target, as `follow` defines.
    pub fn compare(&self, machine: &dyn Probe, path: &str, stat: &Stat) -> Mending {
        let mut mending = Mending::default();
        let is_link = look::is_link(machine, path);
        let itself = is_link && !self.follow;
        let user = self.user.truth() && !same(&self.user, &user_name(machine, stat.uid), stat.uid);
        let group = self.group.truth() && !same(&self.group, &group_name(machine, stat.gid), stat.gid);
        if user || group {
            let (uid, gid) = numbers(machine, &self.user, &self.group);
            let (what, whom) = if user { ("user", &self.user) } else { ("group", &self.group) };
            let failure = format!("Failed to change {what} to {whom}");
            mending.actions.push(Action::Owner {
                path: path.to_owned(),
                uid: uid.filter(|_| user),
                gid: gid.filter(|_| group),
                follow: !itself,
                failure,
            });
        }
        if user {
            mending.changes.insert("user", self.user.clone());
        }
        if group {
            mending.changes.insert("group", self.group.clone());
        }
        let wanted = self.mode.as_ref().filter(|_| !itself);
        match wanted {
            Some(mode) if *mode != octal(stat.mode) => {
                mending.changes.insert("mode", mode.as_str());
                mending.actions.push(set_mode(path, mode));
            }
            // Changing the owner clears the setuid and setgid bits.
            _ if (user || group) && stat.mode & 0o6000 != 0 && !is_link => {
                mending.actions.push(set_mode(path, &octal(stat.mode)));
            }
            _ => {}
        }
        if let Some(attrs) = self.attrs.as_ref().filter(|_| stat.kind != FileKind::Directory && !itself) {
            compare_attributes(machine, path, attrs, &mut mending);
        }
        self.selinux.compare(machine, path, &mut mending);
        mending
    }

    /// As [`PermissionsSpec::compare`], for an existing path.
    pub fn look(&self, machine: &dyn Probe, path: &str) -> Mending {
        let stat = if self.follow { look::found(machine, path) } else { look::itself(machine, path) };
        stat.map_or_else(Mending::default, |stat| self.compare(machine, path, &stat))
    }
}

pub fn set_mode(path: &str, mode: &str) -> Action {
    let failure = format!("Failed to change mode to {mode}");
    match bits(mode) {
        Some(bits) => Action::Mode { path: path.to_owned(), mode: bits, failure },
        None => Action::Fail(failure),
    }
}

fn same(wanted: &Value, name: &Value, number: u32) -> bool {
    wanted == name || *wanted == Value::from(number) || wanted.as_str() == Some(&number.to_string())
}

/// The flags of a file, as `lsattr` shows them; `None` if they can't be read.
fn attributes(machine: &dyn Probe, path: &str) -> Option<String> {
    let output = machine.query(&Command::new(["lsattr", "-d", "--", path])).ok().filter(|output| output.success())?;
    let text = output.text();
    let flags = text.split_whitespace().next()?.chars();
    Some(flags.filter(|flag| "aAcCdDeijPsStTu".contains(*flag)).collect())
}

fn compare_attributes(machine: &dyn Probe, path: &str, wanted: &str, mending: &mut Mending) {
    let Some(old) = attributes(machine, path) else { return };
    let added: String = wanted.chars().filter(|flag| !old.contains(*flag)).collect();
    // The flag for extents belongs to the file system.
    let removed: String = old.chars().filter(|flag| *flag != 'e' && !wanted.contains(*flag)).collect();
    for (sign, flags) in [('+', added), ('-', removed)] {
        if !flags.is_empty() {
            let changes = Map::from_iter([("old".into(), old.as_str().into()), ("new".into(), wanted.into())]);
            mending.changes.insert("attrs", changes);
            let failure = format!("Failed to change attributes to {wanted}");
            mending.actions.push(Action::Attributes {
                path: path.to_owned(),
                flags: format!("{sign}{flags}"),
                failure,
            });
        }
    }
}
