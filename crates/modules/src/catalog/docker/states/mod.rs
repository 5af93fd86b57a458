//! The states of `docker_container`, `docker_image`, `docker_network` and `docker_volume`.
//!
//! They touch everything: a container may hold a port, a directory or a whole server that other steps need.

mod container;
mod image;
mod network;
mod remove;
mod volume;

pub use container::condition;

use super::{Decision, State, StateEntry, Step, Verdict, sql, state};

pub const CONTAINER_STATES: &[StateEntry] =
    &[state::<remove::Absent>(), state::<container::Running>(), state::<remove::Stopped>()];
pub const IMAGE_STATES: &[StateEntry] = &[state::<image::Absent>(), state::<image::Present>()];
pub const NETWORK_STATES: &[StateEntry] = &[state::<network::Absent>(), state::<network::Present>()];
pub const VOLUME_STATES: &[StateEntry] = &[state::<volume::Absent>(), state::<volume::Present>()];
