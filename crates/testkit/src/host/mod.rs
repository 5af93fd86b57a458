//! What a throw-away host is made of.

mod layer;
mod quirk;
mod server;
mod spec;

pub(crate) use layer::{Layer, write as write_layer};
pub use quirk::Quirk;
pub use spec::{HostKind, Mount, Spec};

/// Makes the root of a host and becomes its first process.
pub(crate) const INIT: &str = include_str!("init.sh");

/// Starts a host again when it restarts.
pub(crate) const POWER: &str = include_str!("power.sh");
