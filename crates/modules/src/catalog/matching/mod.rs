//! `match`: whether a target expression matches this target, for each of Salt's kinds.

mod table;
mod target;

use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<target::Compound>(),
    entry::<table::FilterBy>(),
    entry::<target::Glob>(),
    entry::<target::Grain>(),
    entry::<target::GrainPcre>(),
    entry::<table::Ifelse>(),
    entry::<target::Ipcidr>(),
    entry::<target::List>(),
    entry::<target::Pcre>(),
    entry::<target::Pillar>(),
    entry::<target::PillarPcre>(),
    entry::<table::SearchBy>(),
];
