//! Refreshes the package lists once in a run.
//!
//! Salt refreshes with the first `pkg.installed` or `pkg.latest` of a run that has something to do. The run's notes
//! record whether that has happened.

use rocksalt_core::Value;

use super::provider::{PackageProvider, provider};
use crate::machine::{Probe, System};
use crate::{Error, Result};

const NOTE: &str = "pkg.refreshed";

/// Whether the lists must be refreshed before choosing packages.
pub fn is_due(machine: &dyn Probe, asked: &Value) -> bool {
    match asked {
        Value::Null => !is_noted(machine),
        Value::Bool(asked) => *asked,
        Value::String(text) => text.eq_ignore_ascii_case("true") || (text != "False" && !is_noted(machine)),
        other => other.truth() || !is_noted(machine),
    }
}

/// Refreshes the lists; returns the manager's message if that fails.
pub fn refresh(
    machine: &dyn System,
    provider: &dyn PackageProvider,
    cache_valid_time: f64,
) -> Result<Result<(), String>> {
    let fresh = |time: f64| time + cache_valid_time > machine.now();
    if cache_valid_time > 0.0 && provider.refreshed(machine).is_some_and(fresh) {
        note(machine, true);
        return Ok(Ok(()));
    }
    Ok(match provider.refresh(machine)? {
        Ok(_) => {
            note(machine, true);
            Ok(())
        }
        Err(said) => Err(said),
    })
}

/// Refreshes after a state has changed the repositories.
pub fn anew(machine: &dyn System) -> Result<()> {
    match refresh(machine, provider(machine)?, 0.0)? {
        Ok(()) => Ok(()),
        Err(said) => Err(Error::failed(said)),
    }
}

/// Marks the lists as outdated: the next step that needs them refreshes them.
pub fn forget(machine: &dyn Probe) {
    note(machine, false);
}

fn note(machine: &dyn Probe, done: bool) {
    machine.run_notes().lock().insert(NOTE, done);
}

fn is_noted(machine: &dyn Probe) -> bool {
    machine.run_notes().lock().get(NOTE).is_some_and(Value::truth)
}
