//! `group`: the groups of a target.

mod absent;
mod functions;
mod present;
mod tools;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Add>(),
    entry::<functions::Adduser>(),
    entry::<functions::Chgid>(),
    entry::<functions::Delete>(),
    entry::<functions::Deluser>(),
    entry::<functions::Getent>(),
    entry::<functions::Info>(),
    entry::<functions::Members>(),
];

pub const STATES: &[StateEntry] = &[state::<absent::Absent>(), state::<present::Present>()];
