//! Arithmetic on addresses and networks; pure functions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use crate::catalog::Function;
use crate::grains::interfaces::{netmask, network};
use crate::machine::System;
use crate::{Error, Result};

/// A network: its first address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Subnet {
    pub address: IpAddr,
    pub prefix: u8,
}

impl Subnet {
    /// Parses `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or a single address.
    pub(super) fn parse(text: &str) -> Result<Subnet> {
        let fault = || Error::arguments(format!("'{text}' does not appear to be an IPv4 or IPv6 network"));
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.trim().parse().map_err(|_| fault())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix.map(str::trim) {
            None => longest,
            Some(mask) if mask.contains('.') => {
                let mask = u32::from(mask.parse::<Ipv4Addr>().map_err(|_| fault())?);
                let prefix = mask.leading_ones() as u8;
                if u32::from(netmask(prefix)) != mask {
                    return Err(fault());
                }
                prefix
            }
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= longest).ok_or_else(fault)?,
        };
        Ok(Subnet { address: network(address, prefix), prefix })
    }

    pub(super) fn contains(&self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.address.is_ipv4() && network(ip, self.prefix) == self.address
    }

    fn mask(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => netmask(self.prefix).into(),
            IpAddr::V6(_) => network(Ipv6Addr::from(u128::MAX).into(), self.prefix),
        }
    }

    fn last(&self) -> IpAddr {
        match (self.address, self.mask()) {
            (IpAddr::V4(first), IpAddr::V4(mask)) => Ipv4Addr::from(u32::from(first) | !u32::from(mask)).into(),
            (IpAddr::V6(first), IpAddr::V6(mask)) => Ipv6Addr::from(u128::from(first) | !u128::from(mask)).into(),
            (first, _) => first,
        }
    }
}

impl std::fmt::Display for Subnet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

pub(super) fn address(text: &str) -> Result<IpAddr> {
    text.trim().parse().map_err(|_| Error::arguments(format!("'{text}' does not appear to be an IPv4 or IPv6 address")))
}

/// Whether Python's `ipaddress` counts the address as private.
pub(super) fn is_private(ip: IpAddr) -> bool {
    const PRIVATE: &[&str] = &[
        "0.0.0.0/8",
        "10.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "::1",
        "::",
        "::ffff:0:0/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "fc00::/7",
        "fe80::/10",
    ];
    const PUBLIC: &[&str] = &[
        "192.0.0.9",
        "192.0.0.10",
        "2001:1::1",
        "2001:1::2",
        "2001:3::/32",
        "2001:4:112::/48",
        "2001:20::/28",
        "2001:30::/28",
    ];
    let within = |list: &[&str]| list.iter().any(|text| Subnet::parse(text).is_ok_and(|network| network.contains(ip)));
    within(PRIVATE) && !within(PUBLIC)
}

/// The network that an address is in.
///
/// ```text
/// rocksalt '*' network.calc_net 172.17.0.5 255.255.255.240
/// rocksalt '*' network.calc_net 2a02:f6e:a000:80:84d8:8332:7866:4e07/64
/// ```
#[function("network.calc_net", reads)]
pub struct CalcNet {
    /// The address, with or without its prefix.
    ip_addr: String,
    /// The mask, if the address has no prefix.
    netmask: Option<String>,
}

impl Function for CalcNet {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let text = match self.netmask {
            Some(mask) => format!("{}/{mask}", self.ip_addr),
            None => self.ip_addr,
        };
        Ok(Subnet::parse(&text)?.to_string())
    }
}

/// A network's address, mask and last address.
///
/// ```text
/// rocksalt '*' network.convert_cidr 172.31.0.0/16
/// ```
#[function("network.convert_cidr", reads)]
pub struct ConvertCidr {
    /// The network.
    cidr: String,
}

impl Function for ConvertCidr {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let network = Subnet::parse(&self.cidr)?;
        let pairs = [("network", network.address), ("netmask", network.mask()), ("broadcast", network.last())];
        Ok(pairs.into_iter().map(|(name, ip)| (name.into(), Value::from(ip.to_string()))).collect())
    }
}

/// Whether an address is in a network.
///
/// ```text
/// rocksalt '*' network.ip_in_subnet 172.17.0.4 172.16.0.0/12
/// ```
#[function("network.ip_in_subnet", reads)]
pub struct IpInSubnet {
    /// The address.
    ip_addr: String,
    /// The network.
    cidr: String,
}

impl Function for IpInSubnet {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(Subnet::parse(&self.cidr)?.contains(address(&self.ip_addr)?))
    }
}

/// An IPv4 address as eight hexadecimal digits.
///
/// ```text
/// rocksalt '*' network.iphexval 10.0.0.1
/// ```
#[function("network.iphexval", reads)]
pub struct Iphexval {
    /// The address.
    ip: String,
}

impl Function for Iphexval {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let ip: Ipv4Addr =
            self.ip.parse().map_err(|_| Error::arguments(format!("'{}' is no IPv4 address", self.ip)))?;
        Ok(format!("{:08X}", u32::from(ip)))
    }
}

/// Whether an address is the machine's own loopback.
///
/// ```text
/// rocksalt '*' network.is_loopback 127.0.0.1
/// ```
#[function("network.is_loopback", reads)]
pub struct IsLoopback {
    /// The address.
    ip_addr: String,
}

impl Function for IsLoopback {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(address(&self.ip_addr)?.is_loopback())
    }
}

/// Whether an address is a private one.
///
/// ```text
/// rocksalt '*' network.is_private 10.0.0.3
/// ```
#[function("network.is_private", reads)]
pub struct IsPrivate {
    /// The address.
    ip_addr: String,
}

impl Function for IsPrivate {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(is_private(address(&self.ip_addr)?))
    }
}

/// The reverse DNS name of an address.
///
/// ```text
/// rocksalt '*' network.reverse_ip 172.17.0.4
/// ```
#[function("network.reverse_ip", reads)]
pub struct ReverseIp {
    /// The address.
    ip_addr: String,
}

impl Function for ReverseIp {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(match address(&self.ip_addr)? {
            IpAddr::V4(ip) => {
                let [a, b, c, d] = ip.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            IpAddr::V6(ip) => {
                let digits = format!("{:032x}", u128::from(ip));
                let reversed: Vec<String> = digits.chars().rev().map(String::from).collect();
                format!("{}.ip6.arpa", reversed.join("."))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{Call, yaml};

    use crate::catalog;
    use crate::machine::Fake;

    /// The results of Salt 3008.3.
    #[test]
    fn addresses_are_counted_as_in_salt() {
        let cases = [
            ("calc_net", "[10.1.2.3, 255.255.255.240]", "10.1.2.0/28"),
            ("calc_net", "[10.1.2.3/20]", "10.1.0.0/20"),
            (
                "convert_cidr",
                "[10.1.2.0/20]",
                "{'network': '10.1.0.0', 'netmask': '255.255.240.0', 'broadcast': '10.1.15.255'}",
            ),
            (
                "convert_cidr",
                "['2001:db8::/64']",
                "{'network': '2001:db8::', 'netmask': 'ffff:ffff:ffff:ffff::', 'broadcast': '2001:db8::ffff:ffff:ffff:ffff'}",
            ),
            ("ip_in_subnet", "[10.1.2.3, 10.0.0.0/8]", "True"),
            ("ip_in_subnet", "['fd00::1', 10.0.0.0/8]", "False"),
            ("iphexval", "[10.1.2.3]", "0A010203"),
            ("is_loopback", "['::1']", "True"),
            ("is_private", "[192.0.2.2]", "True"),
            ("is_private", "[8.8.8.8]", "False"),
            ("is_private", "[192.0.0.9]", "False"),
            ("reverse_ip", "[10.1.2.3]", "3.2.1.10.in-addr.arpa"),
            ("reverse_ip", "['fd00::2']", "2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa"),
        ];
        for (function, args, expected) in cases {
            let args = yaml::parse(args).expect("it is YAML").as_list().expect("a list").to_vec();
            let answer = catalog::call(Call { args, ..Call::new(format!("network.{function}")) }, &Fake::new());
            assert_eq!(answer.value.to_string(), expected, "{function}");
        }
        for junk in ["junk", "10.0.0.0/33", "10.0.0.0/255.0.255.0", "fd00::/129", "", "/8"] {
            let answer = catalog::call(Call::new("network.convert_cidr").arg(junk), &Fake::new());
            assert!(!answer.success(), "{junk}");
        }
    }
}
