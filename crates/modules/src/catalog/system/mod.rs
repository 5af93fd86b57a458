//! `system`: date and time, the machine's name, and its power.

mod clock;
mod name;
mod power;
mod reboot;

use std::time::Duration;

use super::{CatalogFunction, StateEntry, entry, state};
use crate::Error;

pub(super) use clock::date;
pub use power::restart;

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<name::GetComputerDesc>(),
    entry::<name::GetComputerName>(),
    entry::<power::GetRebootRequiredWitnessed>(),
    entry::<clock::GetSystemDate>(),
    entry::<clock::GetSystemDateTime>(),
    entry::<clock::GetSystemTime>(),
    entry::<power::Halt>(),
    entry::<clock::HasSettableHwclock>(),
    entry::<power::Init>(),
    entry::<power::Poweroff>(),
    entry::<power::Reboot>(),
    entry::<name::SetComputerDesc>(),
    entry::<name::SetComputerName>(),
    entry::<power::SetRebootRequiredWitnessed>(),
    entry::<clock::SetSystemDate>(),
    entry::<clock::SetSystemDateTime>(),
    entry::<clock::SetSystemTime>(),
    entry::<power::Shutdown>(),
];

pub const STATES: &[StateEntry] = &[state::<reboot::Reboot>()];

/// The time limit of programs that should end at once.
const PATIENCE: Duration = Duration::from_secs(10);

fn failure(doing: &str, stderr: &[u8]) -> Error {
    Error::failed(format!("could not {doing}: {}", String::from_utf8_lossy(stderr).trim()))
}
