//! The machine's own names.

use std::path::Path;
use std::time::Duration;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use crate::catalog::Function;
use crate::grains::{hosts, look};
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

fn hostname(machine: &dyn Probe) -> String {
    look::line(machine, "/proc/sys/kernel/hostname")
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// The machine's host name.
///
/// ```text
/// rocksalt '*' network.get_hostname
/// ```
#[function("network.get_hostname", reads)]
pub struct GetHostname {}

impl Function for GetHostname {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(hostname(machine))
    }
}

/// The machine's full name.
///
/// ```text
/// rocksalt '*' network.get_fqdn
/// ```
#[function("network.get_fqdn", reads)]
pub struct GetFqdn {}

impl Function for GetFqdn {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let name = hostname(machine);
        Ok(hosts::resolve(machine, &name, Duration::from_secs(10)).canonical.unwrap_or(name))
    }
}

/// The full names that the machine's own addresses have in its hosts file.
///
/// ```text
/// rocksalt '*' network.fqdns
/// ```
#[function("network.fqdns", reads)]
pub struct Fqdns {}

impl Function for Fqdns {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let names = machine.grains().get("fqdns").cloned().unwrap_or_else(|| Value::List(Vec::new()));
        Ok([("fqdns".into(), names)].into_iter().collect())
    }
}

/// Sets the machine's host name, at once and permanently.
///
/// ```text
/// rocksalt '*' network.mod_hostname web01.example.com
/// ```
#[function("network.mod_hostname", changes)]
pub struct ModHostname {
    /// The new name.
    hostname: String,
}

impl Function for ModHostname {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        set_hostname(machine, &self.hostname)
    }
}

/// Sets the kernel's host name, the file that is read at boot, and the old name's entries in the hosts file.
pub fn set_hostname(machine: &dyn System, name: &str) -> Result<bool> {
    sound_hostname(name)?;
    let old = hostname(machine);
    let hostnamectl = look::program(machine, "hostnamectl").filter(|_| look::exists(machine, "/run/systemd/system"));
    let words = match hostnamectl {
        Some(hostnamectl) => vec![hostnamectl, "set-hostname".into(), name.into()],
        None => vec!["hostname".into(), name.into()],
    };
    let by_systemd = words.len() == 3;
    let output = machine.run(&Command::new(words))?;
    if !output.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::failed(format!("could not set the host name to '{name}': {reason}")));
    }
    let write = |path: &str, text: String| {
        machine.write(Path::new(path), text.as_bytes(), None).map_err(|error| {
            Error::failed(format!(
                "the host name is '{name}' until the next boot, but {}",
                Error::io("write", path, &error)
            ))
        })
    };
    if !by_systemd {
        write("/etc/hostname", format!("{name}\n"))?;
    }
    if let Some(text) = look::text(machine, "/etc/hosts") {
        let changed = renamed(&text, &old, name);
        if changed != text {
            write("/etc/hosts", changed)?;
        }
    }
    machine.refresh_grains();
    Ok(true)
}

/// Checks a host name, which becomes part of a command line and of files.
pub fn sound_hostname(name: &str) -> Result<()> {
    let sound = |part: &str| {
        !part.is_empty() && !part.starts_with('-') && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    match name.len() <= 253 && name.split('.').all(sound) {
        true => Ok(()),
        false => Err(Error::arguments(format!("'{name}' is no host name"))
            .hint("letters, digits and dashes, in parts separated by dots")),
    }
}

/// Replaces whole words, and keeps the blanks between words.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let word = |part: &str| {
        let (bare, blanks) = part.split_at(part.trim_end().len());
        if bare == old && !old.is_empty() { format!("{new}{blanks}") } else { part.to_owned() }
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    #[test]
    fn the_old_name_is_replaced_everywhere() {
        let machine = Fake::new()
            .file("/proc/sys/kernel/hostname", "old\n")
            .file("/etc/hosts", "127.0.0.1\tlocalhost\n127.0.1.1\told older\n")
            .file("/etc/hostname", "old\n")
            .command(&["hostname", "new"], Output::default());
        assert!(set_hostname(&machine, "new").expect("it can be set"));
        assert_eq!(look::text(&machine, "/etc/hosts").as_deref(), Some("127.0.0.1\tlocalhost\n127.0.1.1\tnew older\n"));
        assert_eq!(look::text(&machine, "/etc/hostname").as_deref(), Some("new\n"));
        for bad in ["", "-x", "a..b", "a b", "a;b", "a\n"] {
            assert!(set_hostname(&machine, bad).is_err(), "{bad}");
        }
    }
}
