//! `docker`: containers, images, networks and volumes, through `docker` or otherwise `podman`.
//!
//! From `states` to the program: `arguments` makes the command line of a container, `difference` compares an existing
//! container, `engine` runs the program.

mod arguments;
mod difference;
mod engine;
mod functions;
mod states;

pub use functions::FUNCTIONS;
pub use states::{CONTAINER_STATES, IMAGE_STATES, NETWORK_STATES, VOLUME_STATES};

use super::{CatalogFunction, Decision, Function, State, StateEntry, Step, Verdict, cmd, entry, sql, state};
