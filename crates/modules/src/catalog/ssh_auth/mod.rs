//! `ssh_auth`: the authorized keys of users.

mod absent;
mod given;
mod manage;
mod present;

use super::{StateEntry, state};

pub const STATES: &[StateEntry] = &[state::<absent::Absent>(), state::<manage::Manage>(), state::<present::Present>()];
