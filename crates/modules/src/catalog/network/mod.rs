//! `network`: interfaces, addresses, tables, and reachability of hosts.

mod addresses;
mod arithmetic;
mod identity;
mod reach;
mod settings;
mod sockets;
mod tables;

use super::{CatalogFunction, StateEntry, entry, state};

pub(super) use identity::set_hostname;

pub const STATES: &[StateEntry] = &[state::<settings::System>()];

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<sockets::ActiveTcp>(),
    entry::<tables::Arp>(),
    entry::<arithmetic::CalcNet>(),
    entry::<reach::Connect>(),
    entry::<arithmetic::ConvertCidr>(),
    entry::<tables::DefaultRoute>(),
    entry::<reach::Dig>(),
    entry::<reach::DnsCheck>(),
    entry::<identity::Fqdns>(),
    entry::<identity::GetFqdn>(),
    entry::<identity::GetHostname>(),
    entry::<tables::GetRoute>(),
    entry::<addresses::HwAddr>(),
    entry::<addresses::IfaceStartsWith>(),
    entry::<addresses::InSubnet>(),
    entry::<addresses::OneInterface>(),
    entry::<addresses::InterfaceIp>(),
    entry::<addresses::Interfaces>(),
    entry::<addresses::IpAddrs>(),
    entry::<addresses::IpAddrs6>(),
    entry::<arithmetic::IpInSubnet>(),
    entry::<tables::IpNeighs>(),
    entry::<tables::IpNeighs6>(),
    entry::<addresses::IpNetworks>(),
    entry::<addresses::IpNetworks6>(),
    entry::<arithmetic::Iphexval>(),
    entry::<arithmetic::IsLoopback>(),
    entry::<arithmetic::IsPrivate>(),
    entry::<identity::ModHostname>(),
    entry::<sockets::Netstat>(),
    entry::<reach::Ping>(),
    entry::<arithmetic::ReverseIp>(),
    entry::<tables::Routes>(),
    entry::<addresses::Subnets>(),
    entry::<addresses::Subnets6>(),
    entry::<reach::Wol>(),
];
