//! `slsutil`: helpers for writing state files and templates.

mod banner;
mod data;
mod merge;
mod renderer;
mod tree;

use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<banner::Banner>(),
    entry::<banner::Boolstr>(),
    entry::<data::Deserialize>(),
    entry::<tree::DirExists>(),
    entry::<tree::FileExists>(),
    entry::<tree::Findup>(),
    entry::<merge::Merge>(),
    entry::<merge::MergeAll>(),
    entry::<tree::PathExists>(),
    entry::<renderer::Renderer>(),
    entry::<data::Serialize>(),
    entry::<merge::Update>(),
];
