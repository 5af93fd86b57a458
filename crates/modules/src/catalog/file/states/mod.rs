//! `file`'s states: how files, directories and links shall be.
//!
//! Each looks, and gives a [`Plan`]: the single actions, and the verdict if all of them succeed.

mod absent;
mod accumulated;
mod backup;
mod contents;
mod difference;
mod encoding;
mod flag;
mod hashes;
mod install;
mod lines;
mod look;
mod managed;
mod permissions;
mod selinux;
mod source;
mod work;

use flag::Flag;
use work::{Action, Plan};

use rocksalt_core::Value;

use super::super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};

pub const STATES: &[StateEntry] = &[
    state::<absent::Absent>(),
    state::<accumulated::Accumulated>(),
    state::<managed::Managed>(),
];

/// What a state that writes one path touches.
fn writes(path: &str) -> Touches {
    Touches::nothing().writes(Thing::Path(path.to_owned()))
}

/// What a state reads besides: a path of this machine that content comes from.
fn reading(touches: Touches, source: &Value) -> Touches {
    match source {
        Value::String(path) if path.starts_with('/') => touches.reads(Thing::Path(path.clone())),
        Value::List(sources) => sources.iter().fold(touches, reading),
        _ => touches,
    }
}
