//! `user`: the users of a target.

pub mod account;
pub mod defaults;
pub mod promised;
pub mod tool;

mod absent;
mod add;
mod change;
mod difference;
mod info;
mod present;

pub use present::account_files;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<change::Add>(),
    entry::<change::Chfullname>(),
    entry::<change::Chgid>(),
    entry::<change::Chgroups>(),
    entry::<change::Chhome>(),
    entry::<change::Chhomephone>(),
    entry::<change::Chother>(),
    entry::<change::Chroomnumber>(),
    entry::<change::Chshell>(),
    entry::<change::Chuid>(),
    entry::<change::Chworkphone>(),
    entry::<change::Delete>(),
    entry::<info::Getent>(),
    entry::<info::Info>(),
    entry::<info::ListGroups>(),
    entry::<info::ListUsers>(),
    entry::<info::PrimaryGroup>(),
    entry::<change::Rename>(),
];

pub const STATES: &[StateEntry] = &[state::<absent::Absent>(), state::<present::Present>()];

/// Replaces passwords wherever they would be shown.
pub const REDACTED: &str = "XXX-REDACTED-XXX";
