//! `http`: requests to web servers, with the target's own curl or wget.

mod answer;
mod functions;
mod request;
mod states;

use super::{CatalogFunction, Function, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[entry::<functions::Query>(), entry::<functions::WaitForSuccessfulQuery>()];

pub const STATES: &[StateEntry] = &[state::<states::Query>(), state::<states::WaitForSuccessfulQuery>()];
