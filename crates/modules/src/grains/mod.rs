//! The facts about a machine, under Salt's names: a file for each group of grains.
//!
//! To add a group: write `group.rs` with a `grains` function, and add one line here in each place.

pub mod hosts;
pub mod interfaces;
pub mod look;
pub mod os;
pub mod own;
pub mod routes;

mod architecture;
mod cpu;
mod disks;
mod firmware;
mod gpus;
mod hostname;
mod init;
mod kernel;
mod locale;
mod memory;
mod netlink;
mod network;
mod os_names;
mod process;
mod release;
mod security;
mod virtualization;

use rocksalt_core::Map;

use crate::machine::Probe;

/// Adds a group's grains to the ones gathered so far.
type GrainGroup = fn(&dyn Probe, &mut Map);

/// In order of dependence, otherwise alphabetical.
const GROUPS: &[(&str, GrainGroup)] = &[
    ("kernel", kernel::grains),
    ("os", os::grains),
    ("architecture", architecture::grains),
    ("cpu", cpu::grains),
    ("disks", disks::grains),
    ("firmware", firmware::grains),
    ("gpus", gpus::grains),
    ("hostname", hostname::grains),
    ("locale", locale::grains),
    ("memory", memory::grains),
    ("network", network::grains),
    ("process", process::grains),
    ("release", release::grains),
    ("security", security::grains),
    ("virtualization", virtualization::grains),
];

/// Groups that wait for another program and don't depend on others: gathered in parallel.
const WAITING: &[(&str, GrainGroup)] = &[("init", init::grains)];

/// Gathers all grains. Grains that are configured for the target come last and take precedence, except for who it is.
pub fn gather(machine: &dyn Probe) -> Map {
    let gathered = |groups: &[(&str, GrainGroup)]| {
        let mut grains = Map::new();
        groups.iter().for_each(|(_, group)| group(machine, &mut grains));
        grains
    };
    let mut grains = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| gathered(WAITING));
        let mut grains = gathered(GROUPS);
        grains.extend(waiting.join().unwrap_or_default());
        grains
    });
    let named = ["id", "server_id", "master"].map(|name| (name, grains.get(name).cloned().unwrap_or_default()));
    own::grains(machine, &mut grains);
    // Nobody can rename a target in a file on it: the controller says who it is.
    grains.extend(named.map(|(name, known)| (name.into(), known)));
    grains
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::machine::Fake;

    #[test]
    fn an_empty_machine_has_grains_and_no_accidents() {
        let grains = gather(&Fake::new());
        for name in ["id", "kernel", "os", "os_family", "num_cpus", "mem_total", "ipv4", "virtual", "saltversion"] {
            assert!(grains.contains_key(name), "{name} must always be there");
        }
    }

    #[test]
    fn no_two_groups_give_the_same_grain() {
        let machine = Fake::new();
        let mut seen = BTreeSet::new();
        for (name, group) in GROUPS.iter().chain(WAITING) {
            let mut grains = Map::new();
            group(&machine, &mut grains);
            for key in grains.keys() {
                assert!(seen.insert(key.to_string()), "{key} of {name} is also another group's");
            }
        }
    }
}
