//! Addresses, gateways and name servers.

use std::net::IpAddr;

use rocksalt_core::{Map, Value};

use super::hosts::StaticHosts;
use super::interfaces::{Interface, interfaces, netmask};
use super::look;
use super::routes::{self, Route};
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let interfaces = interfaces(machine);
    addresses(&interfaces, grains);
    gateways(&routes::ipv4(machine), &routes::ipv6(machine), grains);
    // systemd-resolved enters itself in /etc/resolv.conf, and the real servers in this file.
    let resolver = ["/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"];
    if let Some(text) = resolver.iter().find_map(|path| look::text(machine, path)) {
        grains.insert("dns", resolver_settings(&text));
    }
    grains.insert("fqdns", full_names(&StaticHosts::read(machine), &interfaces));
}

fn addresses(interfaces: &[Interface], grains: &mut Map) {
    let texts = |ips: Vec<IpAddr>| ips.iter().map(|ip| Value::from(ip.to_string())).collect::<Vec<_>>();
    let mut hardware = Map::new();
    let (mut both, mut fours, mut sixes) = (Map::new(), Map::new(), Map::new());
    let mut all: Vec<IpAddr> = Vec::new();
    for interface in interfaces {
        let ips = |wanted: fn(&IpAddr) -> bool| interface.addresses.iter().map(|a| a.ip).filter(wanted).collect();
        both.insert(interface.name.as_str(), texts(ips(|_| true)));
        fours.insert(interface.name.as_str(), texts(ips(IpAddr::is_ipv4)));
        sixes.insert(interface.name.as_str(), texts(ips(IpAddr::is_ipv6)));
        all.extend(interface.addresses.iter().map(|address| address.ip));
        if let Some(hwaddr) = &interface.hwaddr {
            hardware.insert(interface.name.as_str(), hwaddr.as_str());
        }
    }
    all.sort_unstable();
    all.dedup();
    let (ipv4, ipv6): (Vec<IpAddr>, Vec<IpAddr>) = all.into_iter().partition(IpAddr::is_ipv4);
    grains.insert("hwaddr_interfaces", hardware);
    grains.insert("ip_interfaces", both);
    grains.insert("ip4_interfaces", fours);
    grains.insert("ip6_interfaces", sixes);
    grains.insert("ipv4", texts(ipv4));
    grains.insert("ipv6", texts(ipv6));
}

/// The gateway's address; true for a default route without a gateway, false without a default route.
fn gateways(ipv4: &[Route], ipv6: &[Route], grains: &mut Map) {
    let gateway = |routes: &[Route]| match routes::default(routes) {
        Some(route) if route.has_gateway() => Value::from(route.gateway.to_string()),
        found => Value::Bool(found.is_some()),
    };
    let (four, six) = (gateway(ipv4), gateway(ipv6));
    grains.insert("ip_gw", four.truth() || six.truth());
    grains.insert("ip4_gw", four);
    grains.insert("ip6_gw", six);
}

/// The names of the machine's own addresses in `/etc/hosts`. Salt asks DNS here, which can hang.
fn full_names(hosts: &StaticHosts, interfaces: &[Interface]) -> Vec<Value> {
    let ips = interfaces.iter().flat_map(|interface| &interface.addresses).map(|address| address.ip);
    let mut names: Vec<&str> = ips.filter(|ip| !ip.is_loopback()).flat_map(|ip| hosts.names(ip)).collect();
    names.retain(|name| name.contains('.'));
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Value::from).collect()
}

/// Parses `/etc/resolv.conf`.
fn resolver_settings(text: &str) -> Map {
    let (mut servers, mut sortlist, mut options): (Vec<(IpAddr, String)>, Vec<String>, Vec<String>) =
        Default::default();
    let (mut domain, mut search) = (String::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(directive) = words.next().map(str::to_lowercase) else { continue };
        let mut words = words.take_while(|word| !word.starts_with(['#', ';']));
        match directive.as_str() {
            "nameserver" => {
                // A link-local address keeps its suffix, the name of the interface.
                let server = words.next().and_then(|word| {
                    let (address, zone) =
                        word.split_once('%').map_or((word, None), |(address, zone)| (address, Some(zone)));
                    let address: IpAddr = address.parse().ok()?;
                    Some((address, zone.map_or(address.to_string(), |zone| format!("{address}%{zone}"))))
                });
                servers.extend(server.filter(|server| !servers.contains(server)));
            }
            "domain" => domain = words.next().map(str::to_owned).unwrap_or(domain),
            "search" => search = words.map(Value::from).collect(),
            "sortlist" => sortlist.extend(words.filter_map(with_netmask)),
            "options" => {
                options.extend(words.next().map(str::to_owned).filter(|option| !options.contains(option)));
            }
            _ => {}
        }
    }
    let texts = |wanted: fn(&IpAddr) -> bool| {
        servers
            .iter()
            .filter(|(address, _)| wanted(address))
            .map(|(_, text)| text.as_str().into())
            .collect::<Vec<Value>>()
    };
    let strings = |list: Vec<String>| Value::List(list.into_iter().map(Value::String).collect());
    [
        ("nameservers", Value::List(texts(|_| true))),
        ("ip4_nameservers", Value::List(texts(IpAddr::is_ipv4))),
        ("ip6_nameservers", Value::List(texts(IpAddr::is_ipv6))),
        ("sortlist", strings(sortlist)),
        ("domain", domain.into()),
        ("search", Value::List(search)),
        ("options", strings(options)),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect()
}

/// `10.0.0.0` becomes `10.0.0.0/255.0.0.0`: without a mask, the old address classes apply.
fn with_netmask(word: &str) -> Option<String> {
    let (address, mask) = word.split_once('/').map_or((word, None), |(address, mask)| (address, Some(mask)));
    let address: std::net::Ipv4Addr = address.parse().ok()?;
    let mask = match mask {
        Some(mask) if mask.contains('.') => mask.to_owned(),
        Some(mask) => netmask(mask.parse().ok()?).to_string(),
        None => netmask(match address.octets()[0] {
            0..=127 => 8,
            128..=191 => 16,
            _ => 24,
        })
        .to_string(),
    };
    Some(format!("{address}/{mask}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolver_settings_are_read() {
        let text = "# made by hand\nnameserver 192.0.2.53\nnameserver 2001:db8::53 # the other\nnameserver 192.0.2.53\n\
                    search example.test corp.test\noptions ndots:2 rotate\nsortlist 10.0.0.0 192.0.2.0/24\nnameserver x\n";
        let expected = "{'nameservers': ['192.0.2.53', '2001:db8::53'], 'ip4_nameservers': ['192.0.2.53'], \
                        'ip6_nameservers': ['2001:db8::53'], 'sortlist': ['10.0.0.0/255.0.0.0', \
                        '192.0.2.0/255.255.255.0'], 'domain': '', 'search': ['example.test', 'corp.test'], \
                        'options': ['ndots:2']}";
        assert_eq!(Value::Map(resolver_settings(text)).to_string(), expected);
    }
}
