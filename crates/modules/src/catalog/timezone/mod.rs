//! `timezone`: the target's time zone, and the mode of its hardware clock.

mod clock;
mod system;
mod zone;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<clock::GetHwclock>(),
    entry::<zone::GetOffset>(),
    entry::<zone::GetZone>(),
    entry::<zone::GetZonecode>(),
    entry::<clock::SetHwclock>(),
    entry::<zone::SetZone>(),
    entry::<zone::ZoneCompare>(),
];

pub const STATES: &[StateEntry] = &[state::<system::System>()];
