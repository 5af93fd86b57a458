//! `file`'s states: how files, directories and links shall be.
//!
//! Each looks, and gives a [`Plan`]: the single actions, and the verdict if all of them succeed.

mod absent;
mod flag;
mod look;
mod work;

use work::{Action, Plan};

use super::super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};

pub const STATES: &[StateEntry] = &[state::<absent::Absent>()];

/// What a state that writes one path touches.
fn writes(path: &str) -> Touches {
    Touches::nothing().writes(Thing::Path(path.to_owned()))
}
