//! `locale`: the system's locale, and the available ones.

mod available;
mod states;
mod system;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<available::Avail>(),
    entry::<available::GenLocale>(),
    entry::<system::GetLocale>(),
    entry::<available::ListAvail>(),
    entry::<system::SetLocale>(),
];

pub const STATES: &[StateEntry] = &[state::<states::Present>(), state::<states::System>()];
