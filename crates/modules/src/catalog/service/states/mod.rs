//! `service`'s states: whether services run and start at boot.

mod boot;
mod dead;
mod enabled;
mod masked;
mod request;
mod running;
mod watch;

use crate::catalog::{StateEntry, Thing, Touches, state};

pub const STATES: &[StateEntry] = &[
    state::<dead::Dead>(),
    state::<enabled::Disabled>(),
    state::<enabled::Enabled>(),
    state::<masked::Masked>(),
    state::<watch::ModWatch>(),
    state::<running::Running>(),
    state::<masked::Unmasked>(),
];

/// A service that starts reads its unit, its configuration and its data, wherever they are, and users and groups too:
/// whoever writes files is before it or after it, but services may start side by side.
fn touches(name: &str) -> Touches {
    let name = name.strip_suffix(".service").unwrap_or(name);
    let touches = Touches::nothing().reads(Thing::Path("/".into())).writes(Thing::Service(name.to_owned()));
    if OF_THE_NETWORK.contains(&name) { touches.writes(Thing::Network) } else { touches }
}

/// Services that cut off connections when they start, stop or read their settings again: firewalls, and those that set
/// interfaces up.
const OF_THE_NETWORK: [&str; 14] = [
    "NetworkManager",
    "connman",
    "dhcpcd",
    "firewalld",
    "ip6tables",
    "iptables",
    "netfilter-persistent",
    "network",
    "networking",
    "nftables",
    "shorewall",
    "systemd-networkd",
    "ufw",
    "wicked",
];
