//! `nftables`: tables, chains and rules of the kernel's packet filter, through `nft`.

mod chains;
mod functions;
mod rule;
mod rule_functions;
mod rules;
mod ruleset;

use super::{CatalogFunction, StateEntry, entry, state};
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<rule_functions::Append>(),
    entry::<rule_functions::BuildRule>(),
    entry::<rule_functions::Check>(),
    entry::<functions::CheckChain>(),
    entry::<functions::CheckTable>(),
    entry::<rule_functions::Delete>(),
    entry::<functions::DeleteChain>(),
    entry::<functions::DeleteTable>(),
    entry::<functions::Flush>(),
    entry::<functions::GetPolicy>(),
    entry::<rule_functions::GetRuleHandle>(),
    entry::<functions::GetRules>(),
    entry::<functions::GetRulesJson>(),
    entry::<functions::GetSavedRules>(),
    entry::<rule_functions::Insert>(),
    entry::<functions::ListTables>(),
    entry::<functions::NewChain>(),
    entry::<functions::NewTable>(),
    entry::<functions::Save>(),
    entry::<functions::SetPolicy>(),
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
    state::<chains::TableAbsent>(),
    state::<chains::TablePresent>(),
];

/// `nft`'s name of a family.
fn family(name: &str) -> Result<&'static str> {
    Ok(match name {
        "ipv4" | "ip4" | "ip" => "ip",
        "ipv6" | "ip6" => "ip6",
        "inet" => "inet",
        "arp" => "arp",
        "bridge" => "bridge",
        "netdev" => "netdev",
        other => {
            return Err(Error::arguments(format!("'{other}' is no family of addresses"))
                .hint("one of ipv4, ipv6, inet, arp, bridge and netdev"));
        }
    })
}

/// Checks names: `nft` parses its arguments as a program.
fn plain(names: &[&str]) -> Result<()> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "_.-/\\".contains(c);
    let sound = |name: &&&str| {
        !name.is_empty()
            && name.chars().all(letter)
            && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    };
    match names.iter().find(|name| !sound(name)) {
        Some(name) => Err(Error::arguments(format!("'{name}' is no name of a table or chain"))),
        None => Ok(()),
    }
}
