//! `file`'s states: how files, directories and links shall be.
//!
//! Each looks, and gives a [`Plan`]: the single actions, and the verdict if all of them succeed.

mod absent;
mod accumulated;
mod additions;
mod append;
mod backup;
mod blockreplace;
mod comment;
mod contents;
mod copy;
mod difference;
mod directory;
mod edit;
mod encoding;
mod exists;
mod flag;
mod hardlink;
mod hashes;
mod install;
mod keep;
mod keyvalue;
mod line;
mod line_edit;
mod lines;
mod look;
mod managed;
mod missing;
mod permissions;
mod prepend;
mod recurse;
mod rename;
mod replace;
mod selinux;
mod source;
mod symlink;
mod texts;
mod touch;
mod tree_files;
mod uncomment;
mod walk;
mod work;

use flag::Flag;
use work::{Action, Plan};

use rocksalt_core::Value;

use super::super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};

pub const STATES: &[StateEntry] = &[
    state::<absent::Absent>(),
    state::<accumulated::Accumulated>(),
    state::<append::Append>(),
    state::<blockreplace::Blockreplace>(),
    state::<comment::Comment>(),
    state::<copy::Copy>(),
    state::<directory::Directory>(),
    state::<exists::Exists>(),
    state::<hardlink::Hardlink>(),
    state::<keyvalue::Keyvalue>(),
    state::<line::Line>(),
    state::<managed::Managed>(),
    state::<missing::Missing>(),
    state::<prepend::Prepend>(),
    state::<recurse::Recurse>(),
    state::<rename::Rename>(),
    state::<replace::Replace>(),
    state::<symlink::Symlink>(),
    state::<touch::Touch>(),
    state::<uncomment::Uncomment>(),
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
