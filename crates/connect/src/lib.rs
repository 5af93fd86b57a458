//! Reaches a target, puts the agent there and exchanges frames with it.
//!
//! Invariant: nothing here knows what a job is. How a link is made: [`transport`] logs in,
//! [`bootstrap`] uploads and starts the agent, [`link`] exchanges frames with it, [`pool`] shares
//! the link, and [`keeper`] keeps it open between commands.

mod host_keys;
pub mod known_hosts;
mod local_user;
pub mod ssh_config;
pub mod transport;

pub mod agents;
pub mod bootstrap;
pub mod link;
pub mod links;
pub mod log;
pub mod pool;

pub mod keeper;

mod resolve;

pub use host_keys::HostKeys;
pub use local_user::LocalUser;
