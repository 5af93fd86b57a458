//! `pkg`: the packages of a target, through its own package manager.
//!
//! Code that all managers share is here and in `states`; the differences are behind
//! [`PackageProvider`](provider::PackageProvider).

mod changes;
mod compare;
mod condition;
mod functions;
mod hold;
pub mod provider;
pub mod refresh;
mod requests;
mod sources;
mod states;

pub use functions::FUNCTIONS;
pub use states::STATES;

use super::{CatalogFunction, Function, entry};
