//! `pkgrepo`: the package repositories of a target.
//!
//! As in Salt, the functions belong to `pkg` (`pkg.list_repos` …).

mod absent;
mod apt;
pub mod functions;
mod ini;
mod key;
mod managed;
mod repository_change;

use rocksalt_core::Value;

use super::file::Flag;
use super::{Decision, Function, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::machine::Probe;
use crate::{Error, Result};

pub const STATES: &[StateEntry] = &[state::<absent::Absent>(), state::<managed::Managed>()];

/// The format in which a system configures its repositories.
enum RepositoryFormat {
    Apt,
    /// In `.repo` files, for a family of systems.
    Ini(String),
}

fn form(machine: &dyn Probe) -> Result<RepositoryFormat> {
    let grains = machine.grains();
    let family = grains.get("os_family").and_then(Value::as_str).unwrap_or_default();
    match family {
        "Debian" => Ok(RepositoryFormat::Apt),
        "RedHat" | "Suse" => Ok(RepositoryFormat::Ini(family.to_owned())),
        _ => Err(Error::failed("Repo management not implemented on this platform")),
    }
}

/// The repositories, which every installation reads; keys and lists are fetched over the network.
fn sources() -> Touches {
    Touches::nothing().writes(Thing::Packages).reads(Thing::Network)
}
