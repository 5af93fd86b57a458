//! `virtualenv`: Python's virtual environments.

mod create;
mod managed;

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<create::Create>(), entry::<create::GetSitePackages>()];

pub const STATES: &[StateEntry] = &[state::<managed::Managed>()];
