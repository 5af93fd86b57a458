//! `virtualenv`: Python's virtual environments.

mod create;
mod managed;

use super::{Entry, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[Entry] = &[entry::<create::Create>(), entry::<create::GetSitePackages>()];

pub const STATES: &[StateEntry] = &[state::<managed::Managed>()];
