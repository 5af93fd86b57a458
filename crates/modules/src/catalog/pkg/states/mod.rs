//! `pkg`'s states: requested packages and versions.

mod group;
mod held;
mod install;
mod installed;
mod joined;
mod latest;
mod manager_arguments;
mod uninstall;
mod uptodate;

pub use install::InstallAttempt;

use super::super::file::Flag;
use super::super::{Decision, State, StateEntry, Step, StepJoin, Thing, Touches, Verdict, state};
use rocksalt_core::Map;

pub const STATES: &[StateEntry] = &[
    state::<group::GroupInstalled>(),
    state::<held::Held>(),
    state::<installed::Installed>(),
    state::<latest::Latest>(),
    state::<uninstall::Purged>(),
    state::<uninstall::Removed>(),
    state::<held::Unheld>(),
    state::<uptodate::Uptodate>(),
];

/// Only one transaction at a time; a package may contain any path, and come from any source.
fn packages() -> Touches {
    Touches::nothing().writes(Thing::Packages).reads(Thing::Network)
}

/// An error in Salt's form: a text, then the manager's whole output.
fn problem(doing: &str, errors: &[String], changes: Map) -> Verdict {
    let mut text = format!("Problem encountered {doing}. Additional info follows:\n\nerrors:");
    for error in errors {
        let mut mark = "- ";
        for line in error.trim_end().lines() {
            text += &format!("\n    {mark}{line}");
            mark = "  ";
        }
    }
    Verdict::bad(text).changes(changes)
}

/// One of a few words, or how many there are.
fn count(number: usize) -> (&'static str, &'static str) {
    if number > 1 { ("s", "were") } else { ("", "was") }
}
