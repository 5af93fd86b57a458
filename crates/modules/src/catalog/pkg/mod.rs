//! `pkg`: the packages of a target, by its own package manager.
//!
//! What is common to all managers is here and in `states`; what is not is behind
//! [`Provider`](provider::Provider).

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
