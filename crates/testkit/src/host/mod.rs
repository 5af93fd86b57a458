//! The files and processes that make up a throw-away host.

mod layer;
mod quirk;
mod server;
mod spec;

pub(crate) use layer::{Layer, write as write_layer};
pub use quirk::Quirk;
pub use spec::{HostKind, Mount, Spec};

/// Builds the root of a host and becomes its first process.
pub(crate) const INIT: &str = include_str!("init.sh");

/// Starts a host again after it restarts.
pub(crate) const POWER: &str = include_str!("power.sh");
