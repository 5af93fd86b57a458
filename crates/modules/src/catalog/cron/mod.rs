//! `cron`: jobs in users' crontabs.

mod crontab;
mod file;
mod functions;
mod request;
mod states;
mod tab;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::GetEntry>(),
    entry::<functions::ListTab>(),
    entry::<functions::RawCron>(),
    entry::<functions::RmEnv>(),
    entry::<functions::RmJob>(),
    entry::<functions::RmSpecial>(),
    entry::<functions::SetEnv>(),
    entry::<functions::SetJob>(),
    entry::<functions::SetSpecial>(),
    entry::<functions::WriteCronFile>(),
];

pub const STATES: &[StateEntry] = &[
    state::<states::Absent>(),
    state::<states::EnvAbsent>(),
    state::<states::EnvPresent>(),
    state::<file::File>(),
    state::<states::Present>(),
];
