//! What is known of a machine, under Salt's names.

use rocksalt_core::Map;

use crate::machine::Probe;

/// Gathers all grains; those of the target's configuration come last and win.
pub fn gather(machine: &dyn Probe) -> Map {
    let mut grains = Map::new();
    if let Some(own) = machine.options().get("grains").and_then(rocksalt_core::Value::as_map) {
        grains.extend(own.clone());
    }
    grains
}
