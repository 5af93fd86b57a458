//! The agent's own process: its user and its working directory.

use std::path::Path;

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::{Probe, accounts};

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let status = look::text(machine, "/proc/self/status").unwrap_or_default();
    // The second number is the effective id.
    let number =
        |key: &str| look::field(&status, key).and_then(|text| text.split_whitespace().nth(1)?.parse::<u32>().ok());
    let uid = number("Uid").unwrap_or_else(|| rustix::process::geteuid().as_raw());
    let gid = number("Gid").unwrap_or_else(|| rustix::process::getegid().as_raw());
    grains.insert("uid", uid);
    grains.insert("gid", gid);
    let user = accounts::users(machine).into_iter().find(|user| user.uid == uid);
    grains.insert("username", user.map(|user| user.name));
    let group = accounts::groups(machine).into_iter().find(|group| group.gid == gid);
    grains.insert("groupname", group.map(|group| group.name));
    grains.insert("pid", std::process::id());
    let cwd = machine.read_link(Path::new("/proc/self/cwd")).unwrap_or_else(|_| "/".into());
    grains.insert("cwd", cwd.to_string_lossy().into_owned());

    let path = machine.env("PATH").unwrap_or_default();
    grains.insert("systempath", path.split(':').map(Value::from).collect::<Vec<_>>());
    grains.insert("path", path);
    grains.insert("shell", machine.env("SHELL").unwrap_or_else(|| "/bin/sh".into()));
    grains.insert("ps", "ps -efHww");
}
