//! `alternatives`: which of several programs a name refers to.

mod functions;
mod group;
mod states;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Auto>(),
    entry::<functions::CheckExists>(),
    entry::<functions::CheckInstalled>(),
    entry::<functions::Display>(),
    entry::<functions::Install>(),
    entry::<functions::Remove>(),
    entry::<functions::Set>(),
    entry::<functions::ShowCurrent>(),
    entry::<functions::ShowLink>(),
];

pub const STATES: &[StateEntry] =
    &[state::<states::Auto>(), state::<states::Install>(), state::<states::Remove>(), state::<states::Set>()];
