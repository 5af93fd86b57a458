//! The routing tables from `/proc/net`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::look;
use crate::machine::Probe;

#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub destination: IpAddr,
    pub prefix: u8,
    pub gateway: IpAddr,
    pub flags: u32,
    pub metric: u32,
    pub interface: String,
}

const GATEWAY: u32 = 0x2;
const REJECT: u32 = 0x200;

impl Route {
    /// Whether this is a default route, but not one that rejects.
    pub fn is_default(&self) -> bool {
        self.prefix == 0 && self.destination.is_unspecified() && self.flags & REJECT == 0
    }

    pub fn has_gateway(&self) -> bool {
        self.flags & GATEWAY != 0
    }

    /// The flags as `netstat -r` shows them.
    pub fn letters(&self) -> String {
        let mut letters = String::from(if self.flags & REJECT != 0 { "!" } else { "U" });
        let table: &[(u32, char)] = match self.destination {
            IpAddr::V4(_) => &[(GATEWAY, 'G'), (0x4, 'H'), (0x8, 'R'), (0x10, 'D'), (0x20, 'M')],
            IpAddr::V6(_) => &[
                (GATEWAY, 'G'),
                (0x4, 'H'),
                (0x1_0000, 'D'),
                (0x4_0000, 'A'),
                (0x100_0000, 'C'),
                (0x2_0000, 'a'),
                (0x40_0000, 'e'),
                (0x20, 'm'),
                (0x20_0000, 'n'),
                (0x200_0000, 'f'),
            ],
        };
        letters.extend(table.iter().filter(|(flag, _)| self.flags & flag != 0).map(|(_, letter)| *letter));
        letters
    }
}

/// IPv4 routes.
pub fn ipv4(machine: &dyn Probe) -> Vec<Route> {
    look::text(machine, "/proc/net/route").unwrap_or_default().lines().skip(1).filter_map(parse_ipv4).collect()
}

/// IPv6 routes.
pub fn ipv6(machine: &dyn Probe) -> Vec<Route> {
    look::text(machine, "/proc/net/ipv6_route").unwrap_or_default().lines().filter_map(parse_ipv6).collect()
}

/// The default route with the highest priority.
pub fn default(routes: &[Route]) -> Option<&Route> {
    routes.iter().filter(|route| route.is_default() && route.interface != "lo").min_by_key(|route| route.metric)
}

fn parse_ipv4(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    // The kernel prints the number in host byte order.
    let address = |at: usize| Some(Ipv4Addr::from(u32::from_str_radix(fields.get(at)?, 16).ok()?.to_ne_bytes()));
    Some(Route {
        destination: address(1)?.into(),
        gateway: address(2)?.into(),
        flags: u32::from_str_radix(fields.get(3)?, 16).ok()?,
        metric: fields.get(6)?.parse().ok()?,
        prefix: u32::from(address(7)?).leading_ones() as u8,
        interface: (*fields.first()?).to_owned(),
    })
}

fn parse_ipv6(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let address = |at: usize| Some(Ipv6Addr::from(u128::from_str_radix(fields.get(at)?, 16).ok()?));
    let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
    Some(Route {
        destination: address(0)?.into(),
        prefix: number(1)? as u8,
        gateway: address(4)?.into(),
        metric: number(5)?,
        flags: number(8)?,
        interface: (*fields.get(9)?).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn tables_are_read_as_the_kernel_prints_them() {
        let line = "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0";
        let route = parse_ipv4(line).expect("a route");
        assert!(route.is_default() && route.has_gateway());
        assert_eq!((route.gateway.to_string().as_str(), route.letters().as_str()), ("192.0.2.1", "UG"));
        let route = parse_ipv4("eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0").expect("a route");
        assert_eq!((route.destination.to_string().as_str(), route.prefix), ("192.0.2.0", 24));
    }

    #[test]
    fn the_lowest_metric_wins_and_refusals_do_not_count() {
        let lines = [
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 \
             ffffffff 00000001 00000000 00200200       lo",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000002 \
             00000800 00000001 00000000 00000003     eth1",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 \
             00000400 00000001 00000000 00000003     eth0",
        ];
        let routes: Vec<Route> = lines.iter().filter_map(|line| parse_ipv6(line)).collect();
        assert_eq!(routes.len(), 3);
        assert_eq!(routes[0].letters(), "!n");
        assert_eq!(default(&routes).map(|route| route.gateway.to_string()).as_deref(), Some("fd00::1"));
    }
}
