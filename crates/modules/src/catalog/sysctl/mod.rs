//! `sysctl`: the kernel's parameters, both current (`/proc/sys`) and at boot.

mod config;
mod functions;
mod kernel;
mod present;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Assign>(),
    entry::<functions::DefaultConfig>(),
    entry::<functions::Get>(),
    entry::<functions::Persist>(),
    entry::<functions::Show>(),
];

pub const STATES: &[StateEntry] = &[state::<present::Present>()];
