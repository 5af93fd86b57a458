//! Becomes another user before a command starts.
//!
//! Rust offers no safe hook between fork and exec, so the agent starts itself with `exec-as`, drops its privileges
//! while it still has a single thread, and then executes the command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process;

use rustix::fs::Mode;
use rustix::process::{Gid, Uid, umask};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use super::accounts::{self, User};
use super::{Command, Probe};
use crate::{Error, Result};

/// The first argument of a program that must become another user.
pub const EXEC_AS: &str = "exec-as";

/// The launcher's arguments to run a command as requested; empty if it needs no launcher.
pub(super) fn prefix(machine: &dyn Probe, command: &Command) -> Result<(Vec<String>, Option<User>)> {
    if command.user.is_none() && command.group.is_none() && command.umask.is_none() {
        return Ok((Vec::new(), None));
    }
    let user = match &command.user {
        None => None,
        Some(name) => Some(accounts::user(machine, name).ok_or_else(|| {
            Error::failed(format!("User '{name}' is not available")).hint("create it, or name another one with `runas`")
        })?),
    };
    let mut gids = user.as_ref().map(|user| accounts::groups_of(machine, user)).unwrap_or_default();
    if let Some(name) = &command.group {
        let group =
            accounts::group(machine, name).ok_or_else(|| Error::failed(format!("Group '{name}' is not available")))?;
        gids.retain(|gid| *gid != group.gid);
        gids.insert(0, group.gid);
    }
    let gids: Vec<String> = gids.iter().map(u32::to_string).collect();
    let uid = user.as_ref().map(|user| user.uid.to_string()).unwrap_or_default();
    let mask = command.umask.map(|mask| format!("{mask:o}")).unwrap_or_default();
    Ok((vec![EXEC_AS.into(), uid, gids.join(","), mask], user))
}

/// Runs when a program's first argument is [`EXEC_AS`]. Returns only on failure, with the reason.
pub fn exec_as(arguments: &[OsString]) -> String {
    let texts: Vec<&str> = arguments.iter().take(3).filter_map(|argument| argument.to_str()).collect();
    let ([uid, gids, mask], Some(program)) = (texts.as_slice(), arguments.get(3)) else {
        return format!("{EXEC_AS}: expected UID GIDS UMASK COMMAND");
    };
    if let Err(error) = become_user(uid, gids, mask) {
        return format!("{EXEC_AS}: could not become user {uid} with groups {gids}: {error}");
    }
    let error = process::Command::new(program).args(&arguments[4..]).exec();
    format!("{}: {}", program.display(), crate::error::reason(&error))
}

fn become_user(uid: &str, gids: &str, mask: &str) -> std::result::Result<(), String> {
    let number = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
    if !mask.is_empty() {
        umask(Mode::from_bits_truncate(u32::from_str_radix(mask, 8).map_err(|error| error.to_string())?));
    }
    let gids = gids.split(',').filter(|gid| !gid.is_empty()).map(number).collect::<std::result::Result<Vec<_>, _>>()?;
    let gids: Vec<Gid> = gids.into_iter().map(Gid::from_raw).collect();
    if let Some(own) = gids.first() {
        set_thread_groups(&gids).map_err(|error| error.to_string())?;
        set_thread_gid(*own).map_err(|error| error.to_string())?;
    }
    if !uid.is_empty() {
        set_thread_uid(Uid::from_raw(number(uid)?)).map_err(|error| error.to_string())?;
    }
    Ok(())
}
