//! The file that rules are loaded from at boot.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};

use super::super::{config, tool};
use super::tables;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The file that the system's own service loads, or `given`.
pub fn path(machine: &dyn Probe, given: Option<&str>, family: &str) -> Result<String> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let grains = machine.grains();
    let grain = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default();
    let (four, six) = match (grain("os_family"), grain("os")) {
        ("RedHat", _) => ("/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"),
        ("Arch" | "Void", _) => ("/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"),
        // The file of the package iptables-persistent.
        ("Debian", _) => ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
        (_, "Gentoo") => ("/var/lib/iptables/rules-save", "/var/lib/ip6tables/rules-save"),
        ("Suse", _) => ("/etc/sysconfig/scripts/SuSEfirewall2-custom", "/etc/sysconfig/scripts/SuSEfirewall2-custom"),
        (_, "Alpine") => ("/etc/iptables/rules-save", "/etc/iptables/rules6-save"),
        (_, os) => {
            return Err(Error::failed(format!("Saving iptables to file is not supported on {os}."))
                .hint("name a file: 'save' takes a path too"));
        }
    };
    Ok(if family == "ipv6" { six } else { four }.to_owned())
}

/// Whether the rules in the file differ from the kernel's.
pub fn is_stale(machine: &dyn Probe, path: &str, family: &str) -> Result<bool> {
    let saved = match machine.read(Path::new(path)) {
        Ok(content) => String::from_utf8_lossy(&content).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(Error::io("read", path, &error)),
    };
    Ok(bare(&saved) != bare(&wanted(machine, family)?))
}

/// Writes the kernel's rules to the file. Returns Salt's text.
pub fn save(machine: &dyn System, path: &str, family: &str) -> Result<String> {
    let text = wanted(machine, family)?;
    tool::write(machine, path, format!("{}\n", text.trim_end()).as_bytes(), None)?;
    Ok(format!("Wrote 1 lines to \"{path}\""))
}

/// The kernel's rules without the lines that `iptables.save_filters` excludes.
fn wanted(machine: &dyn Probe, family: &str) -> Result<String> {
    let text = tables::now(machine, family)?;
    let filters = match config::option(machine, "iptables.save_filters")? {
        Some(Value::List(filters)) => filters,
        _ => return Ok(text),
    };
    let mut patterns = Vec::new();
    for filter in filters {
        patterns.push(Pattern::new(&filter.to_string(), Flags::default())?);
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        let mut out = false;
        for pattern in &patterns {
            out = out || pattern.matches(line)?;
        }
        if !out {
            kept += line;
        }
    }
    Ok(kept)
}

/// Removes comments, which contain the time, and counters.
fn bare(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(" [").filter(|_| line.starts_with(':')).map_or(line, |(line, _)| line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_times_are_no_difference() {
        let one = "# at noon\n*filter\n:INPUT ACCEPT [7:9]\n-A INPUT -j DROP\nCOMMIT\n";
        let other = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\nCOMMIT";
        assert_eq!(bare(one), bare(other));
        assert_ne!(bare(one), bare("*filter\n:INPUT DROP [7:9]\n-A INPUT -j DROP\nCOMMIT\n"));
    }
}
