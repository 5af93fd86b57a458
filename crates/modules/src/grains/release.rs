//! Versions: ours, and that of the Salt whose language we follow.

use rocksalt_core::{Map, Value};

use crate::machine::Probe;

/// Formulas compare it with what they need.
const SALT: [i64; 2] = [3008, 3];

pub(super) fn grains(_: &dyn Probe, grains: &mut Map) {
    grains.insert("saltversion", format!("{}.{}", SALT[0], SALT[1]));
    grains.insert("saltversioninfo", SALT.into_iter().map(Value::Int).collect::<Vec<_>>());
    grains.insert("rocksaltversion", env!("CARGO_PKG_VERSION"));
}
