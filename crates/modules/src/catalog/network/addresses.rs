//! The machine's interfaces and addresses.

use std::net::IpAddr;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::arithmetic::{Subnet, is_private};
use crate::Result;
use crate::catalog::Function;
use crate::grains::interfaces::{Interface, interfaces};
use crate::machine::{Probe, System};

/// All interfaces with their addresses and properties.
///
/// ```text
/// rocksalt '*' network.interfaces
/// ```
#[function("network.interfaces", reads)]
pub struct Interfaces {}

impl Function for Interfaces {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(interfaces(machine).iter().map(|one| (one.name.as_str().into(), Value::Map(described(one)))).collect())
    }
}

fn described(interface: &Interface) -> Map {
    let mut known = Map::new();
    known.insert("up", interface.up);
    if let Some(hwaddr) = &interface.hwaddr {
        known.insert("hwaddr", hwaddr.as_str());
    }
    let add = |known: &mut Map, key: &str, item: Map| match known.entry(key) {
        Value::List(list) => list.push(item.into()),
        none => *none = Value::List(vec![item.into()]),
    };
    for address in &interface.addresses {
        let mut item = Map::new();
        let key = match (address.ip, address.secondary) {
            (IpAddr::V4(_), true) => {
                item.insert("type", "inet");
                "secondary"
            }
            (IpAddr::V4(_), false) => "inet",
            (IpAddr::V6(_), _) => "inet6",
        };
        item.insert("address", address.ip.to_string());
        if address.ip.is_ipv4() {
            item.insert("netmask", address.netmask().to_string());
            item.insert("broadcast", address.broadcast.map(|ip| ip.to_string()));
            item.insert("label", address.label.as_deref());
        } else {
            item.insert("prefixlen", address.prefix.to_string());
            item.insert("scope", address.scope_name());
        }
        add(&mut known, key, item);
    }
    known
}

/// The named interface, or Salt's text that lists the existing ones.
fn find(machine: &dyn Probe, name: &str) -> std::result::Result<Interface, Value> {
    let mut all = interfaces(machine);
    match all.iter().position(|interface| interface.name == name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let names: Vec<String> = all.iter().map(|interface| format!("\"{}\"", interface.name)).collect();
            Err(format!("Interface \"{name}\" not in available interfaces: {}", names.join(", ")).into())
        }
    }
}

/// An interface's hardware address.
///
/// ```text
/// rocksalt '*' network.hw_addr eth0
/// ```
#[function("network.hw_addr", reads, also("network.hwaddr"))]
pub struct HwAddr {
    /// The interface's name.
    iface: String,
}

impl Function for HwAddr {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        Ok(find(machine, &self.iface).map_or_else(|text| text, |found| found.hwaddr.unwrap_or_default().into()))
    }
}

/// An interface's IPv4 addresses with their masks.
///
/// ```text
/// rocksalt '*' network.interface eth0
/// ```
#[function("network.interface", reads)]
pub struct OneInterface {
    /// The interface's name.
    iface: String,
}

impl Function for OneInterface {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let found = find(machine, &self.iface);
        Ok(found.map_or_else(|text| text, |found| described(&found).remove("inet").unwrap_or_else(|| "".into())))
    }
}

/// An interface's first IPv4 address.
///
/// ```text
/// rocksalt '*' network.interface_ip eth0
/// ```
#[function("network.interface_ip", reads)]
pub struct InterfaceIp {
    /// The interface's name.
    iface: String,
}

impl Function for InterfaceIp {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let first = |found: Interface| found.ipv4().next().map(|address| address.ip.to_string()).unwrap_or_default();
        Ok(find(machine, &self.iface).map_or_else(|text| text, |found| first(found).into()))
    }
}

/// The interfaces with an address that begins with this.
///
/// ```text
/// rocksalt '*' network.ifacestartswith 10.
/// ```
#[function("network.ifacestartswith", reads)]
pub struct IfaceStartsWith {
    /// The address's beginning.
    cidr: String,
}

impl Function for IfaceStartsWith {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let fits =
            |interface: &Interface| interface.ipv4().any(|address| address.ip.to_string().starts_with(&self.cidr));
        Ok(interfaces(machine).into_iter().filter(fits).map(|interface| interface.name).collect())
    }
}

/// The addresses and prefixes of one kind, sorted.
fn chosen(machine: &dyn Probe, interface: Option<&str>, loopback: bool, six: bool) -> Vec<(IpAddr, u8)> {
    let all = interfaces(machine);
    let of = all.iter().filter(|one| interface.is_none_or(|name| one.name == name));
    let addresses = of.flat_map(|one| &one.addresses).filter(|address| address.ip.is_ipv6() == six);
    let wanted = addresses.filter(|address| loopback || !address.ip.is_loopback());
    let mut found: Vec<(IpAddr, u8)> = wanted.map(|address| (address.ip, address.prefix)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn texts(found: Vec<(IpAddr, u8)>, cidr: Option<&str>) -> Result<Vec<String>> {
    let network = cidr.map(Subnet::parse).transpose()?;
    let within = found.into_iter().filter(|(ip, _)| network.is_none_or(|network| network.contains(*ip)));
    Ok(within.map(|(ip, _)| ip.to_string()).collect())
}

/// The machine's IPv4 addresses.
///
/// ```text
/// rocksalt '*' network.ip_addrs
/// rocksalt '*' network.ip_addrs cidr=10.0.0.0/8
/// ```
#[function("network.ip_addrs", reads, also("network.ipaddrs"))]
pub struct IpAddrs {
    /// Only this interface's.
    interface: Option<String>,
    /// Also 127.0.0.1.
    include_loopback: bool,
    /// Only those in this network.
    cidr: Option<String>,
    /// Only `public` or only `private` ones.
    r#type: Option<String>,
}

impl Function for IpAddrs {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let mut found = chosen(machine, self.interface.as_deref(), self.include_loopback, false);
        // As in Salt, a network takes precedence over a type.
        match self.r#type.as_deref().filter(|_| self.cidr.is_none()) {
            Some("public") => found.retain(|(ip, _)| !is_private(*ip)),
            Some("private") => found.retain(|(ip, _)| is_private(*ip)),
            _ => {}
        }
        texts(found, self.cidr.as_deref())
    }
}

/// The machine's IPv6 addresses.
///
/// ```text
/// rocksalt '*' network.ip_addrs6
/// ```
#[function("network.ip_addrs6", reads, also("network.ipaddrs6"))]
pub struct IpAddrs6 {
    /// Only this interface's.
    interface: Option<String>,
    /// Also ::1.
    include_loopback: bool,
    /// Only those in this network.
    cidr: Option<String>,
}

impl Function for IpAddrs6 {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let found = chosen(machine, self.interface.as_deref(), self.include_loopback, true);
        texts(found, self.cidr.as_deref())
    }
}

/// Whether the machine has an address in a network.
///
/// ```text
/// rocksalt '*' network.in_subnet 10.0.0.0/16
/// ```
#[function("network.in_subnet", reads)]
pub struct InSubnet {
    /// The network.
    cidr: String,
}

impl Function for InSubnet {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let network = Subnet::parse(&self.cidr)?;
        Ok(chosen(machine, None, true, network.address.is_ipv6()).iter().any(|(ip, _)| network.contains(*ip)))
    }
}

fn networks(found: Vec<(IpAddr, u8)>) -> Vec<Subnet> {
    let network = |(ip, prefix)| Subnet { address: crate::grains::interfaces::network(ip, prefix), prefix };
    let mut networks: Vec<Subnet> = found.into_iter().map(network).collect();
    networks.dedup();
    networks
}

/// The networks that the machine is in.
///
/// ```text
/// rocksalt '*' network.subnets
/// ```
#[function("network.subnets", reads)]
pub struct Subnets {
    /// Only this interface's.
    interfaces: Option<String>,
}

impl Function for Subnets {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let found = chosen(machine, self.interfaces.as_deref(), false, false);
        Ok(networks(found).iter().map(ToString::to_string).collect())
    }
}

/// The IPv6 networks that the machine is in.
///
/// ```text
/// rocksalt '*' network.subnets6
/// ```
#[function("network.subnets6", reads)]
pub struct Subnets6 {}

impl Function for Subnets6 {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(networks(chosen(machine, None, false, true)).iter().map(ToString::to_string).collect())
    }
}

fn network_list(found: Vec<(IpAddr, u8)>, verbose: bool) -> Value {
    let networks = networks(found);
    if !verbose {
        return Value::List(networks.iter().map(|network| network.to_string().into()).collect());
    }
    let described = networks.iter().map(|network| {
        let size = if network.address.is_ipv4() { 32 } else { 128 } - network.prefix;
        let count = 1u128
            .checked_shl(size.into())
            .map_or_else(|| "340282366920938463463374607431768211456".into(), |n| n.to_string());
        let mask = match network.address {
            IpAddr::V4(_) => crate::grains::interfaces::netmask(network.prefix).to_string(),
            IpAddr::V6(_) => {
                let ones = IpAddr::V6(u128::MAX.into());
                crate::grains::interfaces::network(ones, network.prefix).to_string()
            }
        };
        let pairs = [
            ("address", Value::from(network.address.to_string())),
            ("netmask", mask.into()),
            ("num_addresses", Value::integer(&count).unwrap_or_default()),
            ("prefixlen", Value::Int(network.prefix.into())),
        ];
        let known: Map = pairs.into_iter().map(|(name, value)| (name.into(), value)).collect();
        (Value::from(network.to_string()), Value::Map(known))
    });
    Value::Map(described.collect())
}

/// The IPv4 networks that the machine is in, with their sizes if requested.
///
/// ```text
/// rocksalt '*' network.ip_networks verbose=True
/// ```
#[function("network.ip_networks", reads)]
pub struct IpNetworks {
    /// Only this interface's.
    interface: Option<String>,
    /// Also 127.0.0.0/8.
    include_loopback: bool,
    /// Say masks and sizes too.
    verbose: bool,
}

impl Function for IpNetworks {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let found = chosen(machine, self.interface.as_deref(), self.include_loopback, false);
        Ok(network_list(found, self.verbose))
    }
}

/// The IPv6 networks that the machine is in, with their sizes if requested.
///
/// ```text
/// rocksalt '*' network.ip_networks6
/// ```
#[function("network.ip_networks6", reads)]
pub struct IpNetworks6 {
    /// Only this interface's.
    interface: Option<String>,
    /// Also ::1/128.
    include_loopback: bool,
    /// Say masks and sizes too.
    verbose: bool,
}

impl Function for IpNetworks6 {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let found = chosen(machine, self.interface.as_deref(), self.include_loopback, true);
        Ok(network_list(found, self.verbose))
    }
}
