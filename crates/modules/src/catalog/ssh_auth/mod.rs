//! `ssh_auth`: the keys that a user may log in with.

mod absent;
mod given;
mod manage;
mod present;

use super::{StateEntry, state};

pub const STATES: &[StateEntry] = &[state::<absent::Absent>(), state::<manage::Manage>(), state::<present::Present>()];
