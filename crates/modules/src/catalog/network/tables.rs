//! Routes and neighbours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::arithmetic::{Subnet, address};
use crate::catalog::Function;
use crate::grains::interfaces::netmask;
use crate::grains::look;
use crate::grains::routes::{self, Route};
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

fn of_family(machine: &dyn Probe, family: Option<&str>) -> Result<Vec<Route>> {
    match family {
        None => Ok([routes::ipv4(machine), routes::ipv6(machine)].concat()),
        Some("inet") => Ok(routes::ipv4(machine)),
        Some("inet6") => Ok(routes::ipv6(machine)),
        Some(other) => Err(Error::arguments(format!("Invalid address family {other}")).hint("it is inet or inet6")),
    }
}

/// A route in the form of `netstat -rn`.
fn shown(route: &Route) -> Map {
    let (family, destination, mask) = match route.destination {
        IpAddr::V4(ip) => ("inet", ip.to_string(), netmask(route.prefix).to_string()),
        IpAddr::V6(ip) => ("inet6", format!("{ip}/{}", route.prefix), String::new()),
    };
    let pairs = [
        ("addr_family", family.to_owned()),
        ("destination", destination),
        ("gateway", route.gateway.to_string()),
        ("netmask", mask),
        ("flags", route.letters()),
        ("interface", route.interface.clone()),
    ];
    pairs.into_iter().map(|(name, value)| (name.into(), Value::from(value))).collect()
}

/// The routing table.
///
/// ```text
/// rocksalt '*' network.routes
/// rocksalt '*' network.routes inet6
/// ```
#[function("network.routes", reads)]
pub struct Routes {
    /// `inet` or `inet6`; both if it is left out.
    family: Option<String>,
}

impl Function for Routes {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        Ok(of_family(machine, self.family.as_deref())?.iter().map(shown).collect())
    }
}

/// The default routes.
///
/// ```text
/// rocksalt '*' network.default_route
/// ```
#[function("network.default_route", reads)]
pub struct DefaultRoute {
    /// `inet` or `inet6`; both if it is left out.
    family: Option<String>,
}

impl Function for DefaultRoute {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let all = of_family(machine, self.family.as_deref())?;
        let to_all = |route: &&Route| route.prefix == 0 && route.destination.is_unspecified();
        Ok(all.iter().filter(to_all).map(shown).collect())
    }
}

/// The route to an address: gateway, interface and source address.
///
/// ```text
/// rocksalt '*' network.get_route 10.10.10.10
/// ```
#[function("network.get_route", reads)]
pub struct GetRoute {
    /// The address.
    ip: String,
}

impl Function for GetRoute {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let ip = address(&self.ip)?;
        let all = if ip.is_ipv4() { routes::ipv4(machine) } else { routes::ipv6(machine) };
        let leads = |route: &&Route| Subnet { address: route.destination, prefix: route.prefix }.contains(ip);
        let best = all.iter().filter(leads).max_by_key(|route| (route.prefix, std::cmp::Reverse(route.metric)));
        let gateway = best.filter(|route| route.has_gateway()).map(|route| route.gateway.to_string());
        let pairs = [
            ("destination", Value::from(self.ip)),
            ("gateway", gateway.into()),
            ("interface", best.map(|route| route.interface.clone()).into()),
            ("source", source(ip).map(|ip| ip.to_string()).into()),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// The local address of a connected datagram socket; nothing is sent.
fn source(to: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((to, 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

/// Hardware addresses with their IPv4 addresses, from `/proc/net/arp`.
fn neighbours(machine: &dyn Probe) -> Map {
    let text = look::text(machine, "/proc/net/arp").unwrap_or_default();
    let lines = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (ip, hardware) = (*fields.first()?, *fields.get(3)?);
        (hardware != "00:00:00:00:00:00").then(|| (hardware.into(), ip.into()))
    });
    lines.collect()
}

/// The neighbours' hardware addresses, with their IPv4 addresses.
///
/// ```text
/// rocksalt '*' network.arp
/// ```
#[function("network.arp", reads)]
pub struct Arp {}

impl Function for Arp {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(neighbours(machine))
    }
}

/// The neighbours' hardware addresses, with their IPv4 addresses.
///
/// ```text
/// rocksalt '*' network.ip_neighs
/// ```
#[function("network.ip_neighs", reads, also("network.ipneighs"))]
pub struct IpNeighs {}

impl Function for IpNeighs {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(neighbours(machine))
    }
}

/// The neighbours' hardware addresses, with their IPv6 addresses; needs the target's `ip`.
///
/// ```text
/// rocksalt '*' network.ip_neighs6
/// ```
#[function("network.ip_neighs6", reads, also("network.ipneighs6"))]
pub struct IpNeighs6 {}

impl Function for IpNeighs6 {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Some(ip) = look::program(machine, "ip") else {
            return Err(Error::failed("'ip' is not on the target").hint("it comes with the package iproute2"));
        };
        let output = machine.query(&Command::new([ip.as_str(), "-6", "neigh", "show"]))?;
        Ok(parse_neighbours(&output.text()))
    }
}

/// Parses lines such as `fe80::1 dev eth0 lladdr 02:fc:00:00:00:05 router REACHABLE`.
fn parse_neighbours(text: &str) -> Map {
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "lladdr")?;
        Some(((*words.get(at + 1)?).into(), (*words.first()?).into()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn neighbours_without_an_answer_are_left_out() {
        let text = "IP address       HW type     Flags       HW address            Mask     Device\n\
                    192.0.2.1        0x1         0x2         02:fc:00:00:00:05     *        eth0\n\
                    192.0.2.9        0x1         0x0         00:00:00:00:00:00     *        eth0\n";
        let machine = Fake::new().file("/proc/net/arp", text);
        assert_eq!(Value::Map(neighbours(&machine)).to_string(), "{'02:fc:00:00:00:05': '192.0.2.1'}");
        let text = "fe80::1 dev eth0 lladdr 02:fc:00:00:00:05 router STALE\nfe80::9 dev eth0 FAILED\n";
        assert_eq!(Value::Map(parse_neighbours(text)).to_string(), "{'02:fc:00:00:00:05': 'fe80::1'}");
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn routes_are_shown_as_netstat_does() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
                     eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let machine = Fake::new().file("/proc/net/route", table);
        let all = Routes { family: Some("inet".into()) }.call(&machine).expect("there are routes");
        let expected = "{'addr_family': 'inet', 'destination': '192.0.2.0', 'gateway': '0.0.0.0', \
                        'netmask': '255.255.255.0', 'flags': 'U', 'interface': 'eth0'}";
        assert_eq!(Value::Map(all[1].clone()).to_string(), expected);
        let default = DefaultRoute { family: None }.call(&machine).expect("there are routes");
        assert_eq!((default.len(), all.len()), (1, 2));
        assert!(Routes { family: Some("ipx".into()) }.call(&machine).is_err());
    }
}
