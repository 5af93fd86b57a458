//! `acl`: access lists of files, by the tools of the package acl.

mod functions;
mod list;
mod states;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::Delfacl>(),
    entry::<functions::Getfacl>(),
    entry::<functions::Modfacl>(),
    entry::<functions::Version>(),
    entry::<functions::Wipefacls>(),
];

pub const STATES: &[StateEntry] = &[
    state::<states::Absent>(),
    state::<states::ListAbsent>(),
    state::<states::ListPresent>(),
    state::<states::Present>(),
];
