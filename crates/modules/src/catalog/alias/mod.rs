//! `alias` and `aliases`: mail aliases.

mod functions;
mod states;
mod text;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::GetTarget>(),
    entry::<functions::HasTarget>(),
    entry::<functions::ListAliases>(),
    entry::<functions::RmAlias>(),
    entry::<functions::SetTarget>(),
];

pub const STATES: &[StateEntry] = &[state::<states::Absent>(), state::<states::Present>()];
