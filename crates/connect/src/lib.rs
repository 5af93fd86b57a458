//! Reaches a target, puts the agent there and exchanges frames with it.
//!
//! Invariant: nothing here knows what a job is. The way of a link: [`transport`] logs in,
//! [`bootstrap`] puts the agent there and starts it, [`link`] speaks with it, [`pool`] shares it,
//! and [`keeper`] keeps it between commands.

mod host_keys;
pub mod known_hosts;
pub mod ssh_config;
pub mod transport;

pub mod agents;
pub mod bootstrap;
pub mod link;
pub mod links;
pub mod pool;

pub mod keeper;

mod resolve;

pub use host_keys::HostKeys;
