//! `debconf`: answers to the questions that Debian's packages ask.

mod answers;
mod functions;
mod states;

pub use functions::FUNCTIONS;
pub use states::STATES;

use super::file::Flag;
use super::{CatalogFunction, Decision, Function, State, StateEntry, Step, Thing, Touches, Verdict, entry, state};
