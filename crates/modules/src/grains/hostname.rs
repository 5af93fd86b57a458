//! The machine's identity: `id`, its names, and the numbers derived from them.

use std::net::IpAddr;
use std::time::Duration;

use rocksalt_core::roster::server_id;
use rocksalt_core::{Map, Value};

use super::hosts::{self, ResolvedHost};
use super::look;
use crate::machine::Probe;

/// The time limit for name services. A broken resolver must not delay every command.
const PATIENCE: Duration = Duration::from_millis(800);

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let name = look::line(machine, "/proc/sys/kernel/hostname")
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let ResolvedHost { canonical, mut addresses } = hosts::resolve(machine, &name, PATIENCE);
    let full = canonical.unwrap_or_else(|| name.clone());
    if full != name && !addresses.is_empty() {
        // The full name may be in other lines than the short one.
        let of_full = hosts::StaticHosts::read(machine).resolve(&full).addresses;
        if !of_full.is_empty() {
            addresses = of_full;
        }
    }
    let (host, domain) = full.split_once('.').unwrap_or((&full, ""));
    grains.insert("localhost", name.as_str());
    grains.insert("fqdn", full.as_str());
    grains.insert("host", host);
    grains.insert("domain", domain);
    let of_kind = |wanted: fn(&IpAddr) -> bool| {
        addresses
            .iter()
            .filter(|address| wanted(address))
            .map(|address| address.to_string().into())
            .collect::<Vec<Value>>()
    };
    grains.insert("fqdn_ip4", of_kind(IpAddr::is_ipv4));
    grains.insert("fqdn_ip6", of_kind(IpAddr::is_ipv6));

    let option = |name: &str| machine.options().get(name).filter(|value| value.truth()).map(ToString::to_string);
    let id = option("id").unwrap_or_else(|| full.clone());
    grains.insert("server_id", server_id(&id));
    grains.insert("id", id);
    grains.insert("master", option("master").unwrap_or_default());
    let machine_id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| look::line(machine, path));
    if let Some(machine_id) = machine_id {
        grains.insert("machine_id", machine_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn names_come_from_the_hosts_file() {
        let machine = Fake::new()
            .file("/proc/sys/kernel/hostname", "web01\n")
            .file("/etc/hosts", "192.0.2.7 web01.example.test web01\n2001:db8::7 web01.example.test\n")
            .with_options([("id".into(), "the-web".into())].into_iter().collect());
        let mut found = Map::new();
        grains(&machine, &mut found);
        let get = |name: &str| found.get(name).map(ToString::to_string).unwrap_or_default();
        assert_eq!((get("id"), get("host"), get("domain")), ("the-web".into(), "web01".into(), "example.test".into()));
        assert_eq!(get("fqdn_ip4") + &get("fqdn_ip6"), "['192.0.2.7']['2001:db8::7']");
        assert_eq!(get("localhost"), "web01");
    }
}
