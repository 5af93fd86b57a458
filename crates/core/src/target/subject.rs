//! [`Subject`]: a target, as expressions see it.

use std::net::IpAddr;

use crate::roster::RosterEntry;
use crate::value::{Map, Value};

pub trait Subject {
    fn id(&self) -> &str;
    fn grains(&self) -> &Map;
    fn pillar(&self) -> &Map;

    /// All its known addresses.
    fn addresses(&self) -> Vec<IpAddr> {
        addresses_in(self.grains())
    }
}

/// A target's data, as a [`Subject`].
#[derive(Clone, Copy)]
pub struct SubjectData<'a> {
    pub id: &'a str,
    pub grains: &'a Map,
    pub pillar: &'a Map,
}

impl Subject for SubjectData<'_> {
    fn id(&self) -> &str {
        self.id
    }

    fn grains(&self) -> &Map {
        self.grains
    }

    fn pillar(&self) -> &Map {
        self.pillar
    }
}

/// The addresses in the grains `ipv4` and `ipv6`.
pub fn addresses_in(grains: &Map) -> Vec<IpAddr> {
    ["ipv4", "ipv6"].iter().filter_map(|name| grains.get(name)).flat_map(texts).filter_map(address).collect()
}

/// Parses an address, possibly in brackets or with its interface (`fe80::1%eth0`).
pub fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.split_once('%').map_or(bare, |(address, _)| address).parse().ok()
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    }
}

/// A target that was never reached is matched by its roster entry.
impl Subject for RosterEntry {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> &Map {
        &self.grains
    }

    fn pillar(&self) -> &Map {
        &self.pillar
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let mut addresses = addresses_in(&self.grains);
        addresses.extend(address(&self.host));
        addresses
    }
}
