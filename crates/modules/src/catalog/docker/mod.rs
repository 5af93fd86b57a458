//! `docker`: containers, images, networks and volumes, through `docker` or else `podman`.
//!
//! A state goes `states` → `arguments` (the command that makes a container) and `difference` (what of one that is
//! there is otherwise) → `engine` (the program).

mod arguments;
mod difference;
mod engine;
mod functions;
mod states;

pub use functions::FUNCTIONS;
pub use states::{CONTAINER_STATES, IMAGE_STATES, NETWORK_STATES, VOLUME_STATES};

use super::{CatalogFunction, Decision, Function, State, StateEntry, Step, Verdict, cmd, entry, sql, state};
