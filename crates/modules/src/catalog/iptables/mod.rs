//! `iptables`: the rules of the kernel's packet filter, through `iptables` and `ip6tables`.

mod arguments;
mod chains;
mod change_functions;
mod functions;
mod rule;
mod rules;
mod saved;
mod tables;

use super::{CatalogFunction, StateEntry, Thing, Touches, entry, state};
use crate::Result;
use crate::machine::Probe;

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<change_functions::Append>(),
    entry::<functions::BuildRule>(),
    entry::<functions::Check>(),
    entry::<functions::CheckChain>(),
    entry::<change_functions::Delete>(),
    entry::<change_functions::DeleteChain>(),
    entry::<change_functions::Flush>(),
    entry::<functions::GetPolicy>(),
    entry::<functions::GetRules>(),
    entry::<functions::GetSavedPolicy>(),
    entry::<functions::GetSavedRules>(),
    entry::<change_functions::Insert>(),
    entry::<change_functions::NewChain>(),
    entry::<change_functions::Save>(),
    entry::<change_functions::SetPolicy>(),
    entry::<functions::Version>(),
];

pub const STATES: &[StateEntry] = &[
    state::<rules::Append>(),
    state::<chains::ChainAbsent>(),
    state::<chains::ChainPresent>(),
    state::<rules::Delete>(),
    state::<chains::Flush>(),
    state::<rules::Insert>(),
    state::<chains::SetPolicy>(),
];

/// The program for an address family.
fn program(machine: &dyn Probe, family: &str) -> Result<String> {
    super::tool::find(machine, if family == "ipv6" { "ip6tables" } else { "iptables" })
}

/// The kernel's packet filter, which all firewall tools change: existing connections may be blocked afterwards.
pub(super) fn touches() -> Touches {
    Touches::nothing().writes(Thing::Path("/proc/net/netfilter".into())).writes(Thing::Network)
}
