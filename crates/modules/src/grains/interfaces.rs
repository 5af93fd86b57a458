//! The network interfaces and their addresses.

use std::net::{IpAddr, Ipv4Addr};

use super::look;
use super::netlink::{self, Address};
use crate::machine::Probe;
use rocksalt_core::sort::sort_by_key;

#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    pub up: bool,
    pub hwaddr: Option<String>,
    pub addresses: Vec<Address>,
}

/// All interfaces, in the order of their index.
pub fn interfaces(machine: &dyn Probe) -> Vec<Interface> {
    let mut found: Vec<Interface> =
        look::names(machine, "/sys/class/net").iter().filter_map(|name| interface(machine, name)).collect();
    if found.is_empty() {
        return found;
    }
    sort_by_key(&mut found, |interface| interface.index);
    // Without permission to ask the kernel (a strict sandbox), interfaces are listed without addresses.
    for address in netlink::addresses().unwrap_or_default() {
        if let Some(interface) = found.iter_mut().find(|interface| interface.index == address.index) {
            interface.addresses.push(address);
        }
    }
    for interface in &mut found {
        sort_by_key(&mut interface.addresses, |address| address.ip.is_ipv6());
    }
    found
}

fn interface(machine: &dyn Probe, name: &str) -> Option<Interface> {
    const UP: u32 = 1;
    let file = |file: &str| look::line(machine, &format!("/sys/class/net/{name}/{file}"));
    let flags = file("flags").and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    let index = file("ifindex")?.parse().ok()?;
    Some(Interface {
        name: name.to_owned(),
        index,
        up: flags.unwrap_or(0) & UP != 0,
        hwaddr: file("address").filter(|address| address.contains(':')),
        addresses: Vec::new(),
    })
}

impl Interface {
    pub fn ipv4(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(|address| address.ip.is_ipv4())
    }
}

impl Address {
    pub fn netmask(&self) -> Ipv4Addr {
        netmask(self.prefix)
    }

    pub fn scope_name(&self) -> String {
        match self.scope {
            0 => "global".into(),
            200 => "site".into(),
            253 => "link".into(),
            254 => "host".into(),
            255 => "nowhere".into(),
            other => other.to_string(),
        }
    }
}

pub fn netmask(prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0))
}

/// An address with all bits after the prefix cleared.
pub fn network(ip: IpAddr, prefix: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from(u32::from(ip) & u32::from(netmask(prefix)))),
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn interfaces_come_in_the_kernels_order() {
        let base = "/sys/class/net";
        let machine = Fake::new()
            .file(&format!("{base}/eth0/ifindex"), "4000002\n")
            .file(&format!("{base}/eth0/address"), "02:fc:00:00:00:01\n")
            .file(&format!("{base}/eth0/flags"), "0x1003\n")
            .file(&format!("{base}/br0/ifindex"), "4000009\n")
            .file(&format!("{base}/br0/flags"), "0x1002\n")
            .file(&format!("{base}/bonding_masters"), "");
        let found = interfaces(&machine);
        let short: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.up, one.hwaddr.as_deref())).collect();
        assert_eq!(short, [("eth0", true, Some("02:fc:00:00:00:01")), ("br0", false, None)]);
    }

    #[test]
    fn networks_are_addresses_without_their_end() {
        let cases = [("10.1.2.3", 20, "10.1.0.0"), ("10.1.2.3", 0, "0.0.0.0"), ("fd00::2", 64, "fd00::")];
        for (ip, prefix, expected) in cases {
            assert_eq!(network(ip.parse().expect("an address"), prefix).to_string(), expected);
        }
        assert_eq!(netmask(32).to_string() + &netmask(28).to_string(), "255.255.255.255255.255.255.240");
    }
}
