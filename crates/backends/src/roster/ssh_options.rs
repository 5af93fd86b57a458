//! `Key=Value` options of `ssh` in rosters: those that every transport supports.

use std::path::PathBuf;

use rocksalt_core::nearest::hint;
use rocksalt_core::roster::RosterEntry;

use super::{entry, names};

const KNOWN: [&str; 11] = [
    "CertificateFile",
    "ConnectTimeout",
    "HostName",
    "IdentitiesOnly",
    "IdentityFile",
    "Port",
    "ProxyJump",
    "RequestTTY",
    "StrictHostKeyChecking",
    "User",
    "UserKnownHostsFile",
];

/// Accepted and ignored: how `ssh` shares connections and what it prints doesn't matter to a target.
const IGNORED: [&str; 9] = [
    "batchmode",
    "compression",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "loglevel",
    "serveralivecountmax",
    "serveraliveinterval",
    "tcpkeepalive",
];

/// Sets all options; the error has a line for each faulty one.
pub(super) fn apply(options: &[String], entry: &mut RosterEntry, path: impl Fn(&str) -> PathBuf) -> Result<(), String> {
    let mut wrong = Vec::new();
    for option in options {
        let (key, value) =
            option.split_once(['=', ' ']).map_or((option.as_str(), ""), |(key, value)| (key.trim(), value.trim()));
        if let Err(message) = set(key, value, entry, &path) {
            wrong.push(format!("{key}: {message}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Sets one option; keys are as in `ssh_config`, in any case.
pub(super) fn set(
    key: &str,
    value: &str,
    entry: &mut RosterEntry,
    path: &impl Fn(&str) -> PathBuf,
) -> Result<(), String> {
    let checked = |check: Result<(), String>| check.map(|()| Some(value.to_owned()));
    match key.to_ascii_lowercase().as_str() {
        "certificatefile" => entry.certificate = Some(path(value)),
        "connecttimeout" => entry.timeout = Some(entry::seconds(value)?),
        "hostname" => entry.host = checked(names::check_host(value))?.unwrap_or_default(),
        "identitiesonly" => entry.identities_only = yes(value)?,
        "identityfile" => entry.keys.push(path(value)),
        "port" => entry.port = Some(entry::port(value)?),
        "proxyjump" if value == "none" => entry.proxy_jump = None,
        "proxyjump" => entry.proxy_jump = checked(names::check_jump(value))?,
        "requesttty" => entry.tty = value == "force" || yes(value)?,
        "stricthostkeychecking" => match value {
            "accept-new" => entry.accept_new = true,
            "yes" | "ask" => entry.accept_new = false,
            _ => {
                return Err(
                    "host keys are always checked; 'accept_new: True' accepts the key of an unknown host".into()
                );
            }
        },
        "user" => entry.user = checked(names::check_user(value))?,
        "userknownhostsfile" if value == "/dev/null" => {
            return Err("host keys are always checked; 'accept_new: True' accepts the key of an unknown host".into());
        }
        "userknownhostsfile" => entry.known_hosts = Some(path(value)),
        key if IGNORED.contains(&key) => {}
        _ => {
            let hint = hint(key, KNOWN);
            return Err(format!("unknown option (the transport 'openssh' reads ~/.ssh/config){hint}"));
        }
    }
    Ok(())
}

fn yes(value: &str) -> Result<bool, String> {
    match value {
        "yes" | "true" => Ok(true),
        "no" | "false" | "auto" => Ok(false),
        _ => Err(format!("'{value}' is neither yes nor no")),
    }
}
