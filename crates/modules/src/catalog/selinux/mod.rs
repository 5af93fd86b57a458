//! `selinux`: its mode, booleans and file labels, through the target's own tools.

mod boolean;
mod fcontext;
mod labels;
mod mode;
mod modules;
mod ports;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<fcontext::AddPolicy>(),
    entry::<fcontext::ApplyPolicy>(),
    entry::<fcontext::DeletePolicy>(),
    entry::<fcontext::GetPolicy>(),
    entry::<fcontext::PolicyIsApplied>(),
    entry::<mode::Getconfig>(),
    entry::<mode::Getenforce>(),
    entry::<boolean::Getsebool>(),
    entry::<boolean::ListSebool>(),
    entry::<modules::ListSemod>(),
    entry::<mode::Setenforce>(),
    entry::<boolean::Setsebool>(),
    entry::<boolean::Setsebools>(),
];

pub const STATES: &[StateEntry] = &[
    state::<boolean::Boolean>(),
    state::<labels::Absent>(),
    state::<labels::Applied>(),
    state::<labels::Present>(),
    state::<mode::Mode>(),
    state::<modules::Module>(),
    state::<modules::ModuleInstall>(),
    state::<modules::ModuleRemove>(),
    state::<ports::Absent>(),
    state::<ports::Present>(),
];
