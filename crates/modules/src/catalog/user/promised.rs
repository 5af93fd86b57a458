//! Users and groups that earlier steps of a dry run would have created, for later steps.

use rocksalt_core::{Map, Value};

use crate::machine::Probe;
use crate::machine::accounts::{self, Group};

const USERS: &str = "user.promised";
const GROUPS: &str = "group.promised";

pub fn promise_user(machine: &dyn Probe, name: &str, uid: u32) {
    promise(machine, USERS, name, uid.into());
}

pub fn promise_group(machine: &dyn Probe, name: &str, gid: u32) {
    promise(machine, GROUPS, name, gid.into());
}

/// All groups, including those of the dry run.
pub fn groups(machine: &dyn Probe) -> Vec<Group> {
    let mut groups = accounts::groups(machine);
    for (name, gid) in promised(machine, GROUPS) {
        if !groups.iter().any(|group| group.name == name) {
            groups.push(Group { name, gid, members: Vec::new() });
        }
    }
    groups
}

pub fn uids(machine: &dyn Probe) -> Vec<u32> {
    promised(machine, USERS).into_iter().map(|(_, uid)| uid).collect()
}

fn promise(machine: &dyn Probe, kind: &str, name: &str, id: Value) {
    let mut notes = machine.run_notes().lock();
    let mut known = match notes.remove(kind) {
        Some(Value::Map(known)) => known,
        _ => Map::new(),
    };
    known.insert(name, id);
    notes.insert(kind, known);
}

fn promised(machine: &dyn Probe, kind: &str) -> Vec<(String, u32)> {
    let notes = machine.run_notes().lock();
    let Some(known) = notes.get(kind).and_then(Value::as_map) else { return Vec::new() };
    let number = |id: &Value| id.as_i64().and_then(|id| u32::try_from(id).ok());
    known.iter().filter_map(|(name, id)| Some((name.to_string(), number(id)?))).collect()
}
