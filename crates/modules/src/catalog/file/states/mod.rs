//! `file`'s states: files, directories and links.
//!
//! Each looks, and returns a [`Plan`]: the single actions, and the verdict if all of them succeed.
//! An early verdict ends the looking as an `Err`.

#![allow(clippy::result_large_err, reason = "a verdict found on the way is how most runs end, not a rare error")]

mod absent;
mod accumulated;
mod additions;
mod append;
mod backup;
mod blockreplace;
mod cached;
mod comment;
mod contents;
mod copy;
mod decode;
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
mod missing_directories;
mod mknod;
mod not_cached;
mod patch;
mod permissions;
mod prepend;
mod pruned;
mod recurse;
mod rename;
mod replace;
mod retention_schedule;
mod selinux;
mod serialize;
mod source;
mod symlink;
mod texts;
mod tidied;
mod touch;
mod tree_files;
mod uncomment;
mod walk;

pub use contents::{render, variables};
pub use difference::of as difference;
pub use flag::Flag;
pub use hashes::read as read_hash;
pub use missing_directories::missing_directories;
pub use source::{Proof, choose, fetch, redacted};

use rocksalt_core::Value;

use super::super::{Action, Decision, Plan, State, StateEntry, Step, Thing, Touches, Verdict, state};

pub const STATES: &[StateEntry] = &[
    state::<absent::Absent>(),
    state::<accumulated::Accumulated>(),
    state::<append::Append>(),
    state::<blockreplace::Blockreplace>(),
    state::<cached::Cached>(),
    state::<comment::Comment>(),
    state::<copy::Copy>(),
    state::<decode::Decode>(),
    state::<directory::Directory>(),
    state::<exists::Exists>(),
    state::<hardlink::Hardlink>(),
    state::<keyvalue::Keyvalue>(),
    state::<line::Line>(),
    state::<managed::Managed>(),
    state::<missing::Missing>(),
    state::<mknod::Mknod>(),
    state::<not_cached::NotCached>(),
    state::<patch::Patch>(),
    state::<prepend::Prepend>(),
    state::<pruned::Pruned>(),
    state::<recurse::Recurse>(),
    state::<rename::Rename>(),
    state::<replace::Replace>(),
    state::<retention_schedule::RetentionSchedule>(),
    state::<serialize::Serialize>(),
    state::<symlink::Symlink>(),
    state::<tidied::Tidied>(),
    state::<touch::Touch>(),
    state::<uncomment::Uncomment>(),
];

/// The touches of a state that writes one path.
fn writes(path: &str) -> Touches {
    Touches::nothing().writes(Thing::Path(path.to_owned()))
}

/// Adds the path of this machine from which content is read.
fn reading(touches: Touches, source: &Value) -> Touches {
    match source {
        Value::String(source) => touches.from(source),
        Value::List(sources) => sources.iter().fold(touches, reading),
        _ => touches,
    }
}
