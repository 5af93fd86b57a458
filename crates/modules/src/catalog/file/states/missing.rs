//! `file.missing`: checks that a path doesn't exist.

use rocksalt_macros::state;

use super::{Decision, State, Step, Thing, Touches, Verdict, look};
use crate::Result;
use crate::machine::Probe;

/// Fails if there is such a file or directory; removes nothing.
///
/// ```yaml
/// /etc/nologin:
///   file.missing
/// ```
#[state("file.missing")]
pub struct Missing {
    /// The path.
    name: String,
}

impl State for Missing {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        Ok(Decision::Settled(match () {
            () if name.is_empty() => Verdict::bad("Must provide name to file.missing"),
            () if look::exists(machine, &name) => Verdict::bad(format!("Specified path {name} exists")),
            () => Verdict::good(format!("Path {name} is missing")),
        }))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().reads(Thing::Path(self.name.clone()))
    }
}
