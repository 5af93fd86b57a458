//! `service`'s functions.

mod act;
mod lists;
mod mask;
mod questions;

use crate::catalog::{CatalogFunction, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<questions::Available>(),
    entry::<act::Disable>(),
    entry::<questions::Disabled>(),
    entry::<act::Enable>(),
    entry::<questions::Enabled>(),
    entry::<lists::Execs>(),
    entry::<act::ForceReload>(),
    entry::<act::FullRestart>(),
    entry::<lists::GetAll>(),
    entry::<lists::GetDisabled>(),
    entry::<lists::GetEnabled>(),
    entry::<lists::GetRunning>(),
    entry::<lists::GetStatic>(),
    entry::<mask::Mask>(),
    entry::<mask::Masked>(),
    entry::<questions::Missing>(),
    entry::<questions::Offline>(),
    entry::<act::Reload>(),
    entry::<act::Restart>(),
    entry::<lists::Show>(),
    entry::<act::Start>(),
    entry::<questions::Status>(),
    entry::<act::Stop>(),
    entry::<mask::SystemctlReload>(),
    entry::<mask::Unmask>(),
];
