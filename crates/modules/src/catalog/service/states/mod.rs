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

/// A starting service reads its unit, configuration and data, wherever they are, and users and groups too. So steps
/// that write files run before or after it, but services may start in parallel.
fn touches(name: &str) -> Touches {
    let name = name.strip_suffix(".service").unwrap_or(name);
    let touches = Touches::nothing().reads(Thing::Path("/".into())).writes(Thing::Service(name.to_owned()));
    if OF_THE_NETWORK.contains(&name) { touches.writes(Thing::Network) } else { touches }
}

/// Services that interrupt connections when they start, stop or reload: firewalls, and network configuration.
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
