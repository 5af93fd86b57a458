//! `file.exists`: checks that a path exists.

use rocksalt_macros::state;

use super::{Decision, State, Step, Thing, Touches, Verdict, look};
use crate::Result;
use crate::machine::Probe;

/// Fails unless there is such a file or directory; makes nothing.
///
/// ```yaml
/// /etc/ssl/private/site.key:
///   file.exists
/// ```
#[state("file.exists")]
pub struct Exists {
    /// The path.
    name: String,
}

impl State for Exists {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        Ok(Decision::Settled(match () {
            () if name.is_empty() => Verdict::bad("Must provide name to file.exists"),
            () if look::exists(machine, &name) => Verdict::good(format!("Path {name} exists")).output("path", name),
            () => Verdict::bad(format!("Specified path {name} does not exist")),
        }))
    }

    fn touches(&self) -> Touches {
        Touches::nothing().reads(Thing::Path(self.name.clone()))
    }
}
