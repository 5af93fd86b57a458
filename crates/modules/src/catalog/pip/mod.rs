//! `pip`: Python packages, by the target's own pip or that of a virtual environment.

mod find;
mod functions;
mod installed;
mod options;
mod removed;
mod requirement;
mod version;

pub use find::foreseen;
pub use functions::freeze;
pub use installed::requirements;
pub use options::{Options, said};
pub use requirement::normal;

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Freeze>(),
    entry::<functions::Install>(),
    entry::<functions::IsInstalled>(),
    entry::<functions::List>(),
    entry::<functions::ListUpgrades>(),
    entry::<functions::Normalize>(),
    entry::<functions::Uninstall>(),
    entry::<functions::Upgrade>(),
    entry::<functions::Version>(),
];

pub const STATES: &[StateEntry] =
    &[state::<installed::Installed>(), state::<removed::Removed>(), state::<removed::Uptodate>()];
