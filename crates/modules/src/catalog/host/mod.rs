//! `host`: names in the hosts file (`hosts.file` of the configuration, otherwise `/etc/hosts`).

mod lines;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use self::lines::HostsFile;
use super::file::Flag;
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::Result;
use crate::machine::Probe;

pub const STATES: &[StateEntry] = &[state::<Absent>(), state::<Only>(), state::<Present>()];

/// Makes sure that a name stands for addresses.
///
/// ```yaml
/// salt-master:
///   host.present:
///     - ip: 192.168.0.42
/// ```
#[state("host.present", strict, required("ip"))]
pub struct Present {
    /// The name.
    name: String,
    /// The address, or a list of them.
    ip: Vec<String>,
    /// What stands behind it.
    comment: Option<String>,
    /// Take the name away from other addresses.
    clean: Flag,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (path, mut hosts) = HostsFile::read(machine)?;
        let name = &self.name;
        let comment = self.comment.as_deref().unwrap_or_default();
        let HostDifference { kept, invalid, add, remark, remove, warnings } = self.compare(&hosts);
        let (mut would, mut done) = (kept.clone(), kept);
        let mut changes = Map::new();
        for (ips, key, dry, told) in [
            (&add, "added", format!("Host {name} (@) would be added"), format!("Added host {name} (@)")),
            (
                &remark,
                "comment_added",
                format!("Comment for @ ({comment}) would be added"),
                format!("Set comment for host @ ({comment})"),
            ),
            (&remove, "removed", format!("Host {name} (@) would be removed"), format!("Removed host {name} (@)")),
        ] {
            let what = if key == "comment_added" { comment } else { name };
            let mut of_kind = Map::new();
            for ip in ips {
                would.push(dry.replace('@', ip));
                done.push(told.replace('@', ip));
                of_kind.insert(ip.as_str(), vec![Value::from(what)]);
            }
            if !of_kind.is_empty() {
                changes.insert(key, of_kind);
            }
        }
        add.iter().for_each(|ip| hosts.add(ip, name));
        remark.iter().for_each(|ip| hosts.remark(ip, comment));
        remove.iter().for_each(|ip| hosts.remove(ip, name));
        let end = |lines: &[String], pending: bool| {
            let result = if invalid { Some(false) } else { (!pending).then_some(true) };
            let verdict = Verdict { result, changes: changes.clone(), ..Verdict::good(lines.join("\n")) };
            Verdict { warnings: warnings.clone(), ..verdict }
        };
        if changes.is_empty() {
            return Ok(Decision::Settled(end(&done, false)));
        }
        let pending = !add.is_empty() || !remove.is_empty();
        Ok(Decision::Change(hosts.plan(path, end(&done, false)), end(&would, pending)))
    }

    fn touches(&self) -> Touches {
        hosts_file()
    }
}

impl Present {
    fn compare(&self, hosts: &HostsFile) -> HostDifference {
        let name = &self.name;
        let wanted = self.comment.as_deref().filter(|comment| !comment.is_empty());
        let mut difference = HostDifference::default();
        for ip in &self.ip {
            if hosts.get(ip).is_none() {
                difference.add.push(ip.clone());
                difference.remark.extend(wanted.map(|_| ip.clone()));
            }
        }
        for host in hosts.addresses() {
            let (ip, has) = (&host.ip, host.names.contains(name));
            if !self.ip.contains(ip) {
                if has && self.clean.0 {
                    difference.remove.push(ip.clone());
                } else if has {
                    difference.warnings.push(format!(
                        "Host {name} present for IP address {ip}. To get rid of this warning, either run this state \
                         with 'clean' set to True to remove {name} from {ip}, or add {ip} to the 'ip' argument."
                    ));
                }
            } else if has && wanted.is_some() && host.comment.as_deref() != wanted {
                difference.remark.push(ip.clone());
            } else if has {
                difference.kept.push(format!("Host {name} ({ip}) already present"));
            } else if ip.parse::<std::net::IpAddr>().is_ok() {
                difference.add.push(ip.clone());
                difference.remark.extend(wanted.map(|_| ip.clone()));
            } else {
                difference.invalid = true;
                difference.kept.push(format!("Invalid IP Address for {name} ({ip})"));
            }
        }
        difference
    }
}

/// How a hosts file differs from what [`Present`] specifies: addresses, by what they need.
#[derive(Default)]
struct HostDifference {
    /// The lines of the comment about addresses that stay as they are.
    kept: Vec<String>,
    invalid: bool,
    add: Vec<String>,
    /// These get the comment.
    remark: Vec<String>,
    remove: Vec<String>,
    warnings: Vec<String>,
}

/// Makes sure that a name does not stand for an address.
///
/// ```yaml
/// old.example.com:
///   host.absent:
///     - ip: 192.168.0.42
/// ```
#[state("host.absent", strict, required("ip"))]
pub struct Absent {
    /// The name.
    name: String,
    /// The address, or a list of them.
    ip: Vec<String>,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (path, mut hosts) = HostsFile::read(machine)?;
        let name = &self.name;
        let (mut would, mut done) = (Vec::new(), Vec::new());
        let (mut absent, mut changed) = (false, false);
        for ip in &self.ip {
            if hosts.get(ip).is_none_or(|host| !host.names.contains(name)) {
                absent = true;
                would.push(format!("Host {name} ({ip}) already absent"));
                done.push(format!("Host {name} ({ip}) already absent"));
                continue;
            }
            changed = true;
            hosts.remove(ip, name);
            would.push(format!("Host {name} ({ip}) needs to be removed"));
            done.push(format!("Removed host {name} ({ip})"));
        }
        if !changed {
            return Ok(Decision::Settled(Verdict::good(done.join("\n"))));
        }
        // Salt's dry run drops its changes if one of several addresses is correct already.
        let would = Verdict { result: absent.then_some(true), ..Verdict::good(would.join("\n")) };
        let done = Verdict::good(done.join("\n")).change("host", name.as_str());
        Ok(Decision::Change(hosts.plan(path, done), would))
    }

    fn touches(&self) -> Touches {
        hosts_file()
    }
}

/// Makes sure that an address has these names and no others.
///
/// ```yaml
/// 127.0.1.1:
///   host.only:
///     - hostnames:
///       - foo.bar
///       - foo
/// ```
#[state("host.only", strict, required("hostnames"))]
pub struct Only {
    /// The address.
    name: String,
    /// Its names.
    hostnames: Vec<String>,
}

impl State for Only {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (path, mut hosts) = HostsFile::read(machine)?;
        let ip = &self.name;
        let old = hosts.get(ip).map(|host| host.names.join(" ")).unwrap_or_default();
        let new = self.hostnames.iter().map(|name| name.trim()).collect::<Vec<_>>().join(" ");
        if old == new {
            return Ok(Decision::Settled(Verdict::good(format!("IP address {ip} already set to \"{new}\""))));
        }
        hosts.set(ip, &new);
        let change = super::change(old.as_str(), new.as_str());
        let done = Verdict::good(format!("successfully changed {ip} from \"{old}\" to \"{new}\""));
        let would = Verdict::would(format!("Would change {ip} from \"{old}\" to \"{new}\""));
        Ok(Decision::Change(hosts.plan(path, done.change(ip.as_str(), change)), would))
    }

    fn touches(&self) -> Touches {
        hosts_file()
    }
}

fn hosts_file() -> Touches {
    Touches::nothing().writes(Thing::Path("/etc/hosts".into()))
}
