//! [`IpAddress`]: an IP address with an optional prefix, as Python's `ipaddress` parses and prints it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone)]
pub(super) struct IpAddress {
    pub ip: IpAddr,
    /// The interface of a link-local address: `%eth0`.
    pub zone: Option<String>,
    pub prefix: Option<u8>,
}

impl IpAddress {
    /// Parses `192.0.2.1`, `192.0.2.1/24`, `192.0.2.1/255.255.255.0` or `fe80::1%eth0/64`.
    pub fn parse(text: &str) -> Option<IpAddress> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let (address, zone) = match address.split_once('%') {
            Some((address, zone)) if !zone.is_empty() && !zone.contains('%') => (address, Some(zone.to_owned())),
            Some(_) => return None,
            None => (address, None),
        };
        let ip: IpAddr = address.parse().ok()?;
        if zone.is_some() && ip.is_ipv4() {
            return None;
        }
        let prefix = match prefix {
            Some(prefix) => Some(prefix_length(prefix, ip)?),
            None => None,
        };
        Some(IpAddress { ip, zone, prefix })
    }

    pub fn version(&self) -> u8 {
        if self.ip.is_ipv4() { 4 } else { 6 }
    }

    /// The address, with the prefix only if one was given.
    pub fn text(&self) -> String {
        let zone = self.zone.as_ref().map_or(String::new(), |zone| format!("%{zone}"));
        let prefix = self.prefix.map_or(String::new(), |prefix| format!("/{prefix}"));
        format!("{}{zone}{prefix}", ip_text(self.ip))
    }

    /// The address with its prefix; without one, the prefix is the whole length.
    pub fn interface_text(&self) -> String {
        IpAddress { prefix: Some(self.length()), ..self.clone() }.text()
    }

    fn length(&self) -> u8 {
        self.prefix.unwrap_or(width(self.ip))
    }

    fn free_bits(&self) -> u32 {
        u32::from(width(self.ip) - self.length())
    }

    /// The first and the last address of its network.
    pub fn bounds(&self) -> (u128, u128) {
        let mask = 1u128.checked_shl(self.free_bits()).map_or(u128::MAX, |end| end - 1);
        let number = number(self.ip);
        (number & !mask, number | mask)
    }

    /// The first and the last address that a host can have.
    pub fn host_bounds(&self) -> (u128, u128) {
        let (first, last) = self.bounds();
        match (self.ip.is_ipv4(), self.free_bits()) {
            (_, 0 | 1) => (first, last),
            (true, _) => (first + 1, last - 1),
            (false, _) => (first + 1, last),
        }
    }

    pub fn address_of(&self, number: u128) -> String {
        ip_text(match self.ip {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(number as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(number)),
        })
    }

    pub fn contains(&self, other: &IpAddress) -> bool {
        let (first, last) = self.bounds();
        self.version() == other.version() && (first..=last).contains(&number(other.ip))
    }

    /// Whether it is in one of the networks.
    fn is_in(&self, networks: &[&str]) -> bool {
        networks.iter().filter_map(|network| IpAddress::parse(network)).any(|network| network.contains(self))
    }

    /// Whether the address has the property that Salt calls `option`; `None` if the option is unknown.
    pub fn is(&self, option: &str) -> Option<bool> {
        Some(match option {
            "global" | "public" => !self.is_private(),
            "private" => self.is_private(),
            "link-local" | "linklocal" | "ll" | "link_local" => self.is_in(&["169.254.0.0/16", "fe80::/10"]),
            "loopback" | "lo" => self.is_in(&["127.0.0.0/8", "::1"]),
            "multicast" => self.is_in(&["224.0.0.0/4", "ff00::/8"]),
            "reserved" => self.is_in(RESERVED),
            "site-local" | "sl" | "site_local" => self.is_in(&["fec0::/10"]),
            "unspecified" => self.is_in(&["0.0.0.0", "::"]),
            _ => return None,
        })
    }

    fn is_private(&self) -> bool {
        match self.ip {
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(inner) => IpAddress { ip: IpAddr::V4(inner), zone: None, prefix: None }.is_in(PRIVATE),
                None => self.is_in(PRIVATE),
            },
            IpAddr::V4(_) => self.is_in(PRIVATE),
        }
    }
}

/// The registered special networks, as in Python 3.11.
const PRIVATE: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.0.170/31",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "100::/64",
    "2001::/23",
    "2001:2::/48",
    "2001:db8::/32",
    "2001:10::/28",
    "fc00::/7",
    "fe80::/10",
];

const RESERVED: &[&str] = &[
    "240.0.0.0/4",
    "::/8",
    "100::/8",
    "200::/7",
    "400::/6",
    "800::/5",
    "1000::/4",
    "4000::/3",
    "6000::/3",
    "8000::/3",
    "a000::/3",
    "c000::/3",
    "e000::/4",
    "f000::/5",
    "f800::/6",
    "fe00::/9",
];

fn width(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    }
}

/// Parses a prefix length or, for IPv4, a netmask or an inverse netmask.
fn prefix_length(text: &str, ip: IpAddr) -> Option<u8> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|length| *length <= width(ip));
    }
    let IpAddr::V4(_) = ip else { return None };
    let mask = u32::from(text.parse::<Ipv4Addr>().ok()?);
    let length = |mask: u32| (mask.leading_ones() + mask.trailing_zeros() == 32).then(|| mask.leading_ones() as u8);
    length(mask).or_else(|| length(!mask))
}

/// Prints IPv6 without the dotted-decimal form that Rust uses for some addresses.
fn ip_text(ip: IpAddr) -> String {
    let IpAddr::V6(ip) = ip else { return ip.to_string() };
    let parts = ip.segments();
    let (mut best, mut best_length) = (0, 1);
    let mut start = 0;
    while start < 8 {
        let length = parts[start..].iter().take_while(|part| **part == 0).count();
        if length > best_length {
            (best, best_length) = (start, length);
        }
        start += length.max(1);
    }
    let joined = |parts: &[u16]| parts.iter().map(|part| format!("{part:x}")).collect::<Vec<_>>().join(":");
    if best_length < 2 {
        return joined(&parts);
    }
    format!("{}::{}", joined(&parts[..best]), joined(&parts[best + best_length..]))
}
