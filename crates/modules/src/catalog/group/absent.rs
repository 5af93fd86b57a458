//! `group.absent`: a group doesn't exist.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::tools;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::user::account_files;
use crate::catalog::user::tool::{self, check_name};
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that there is no such group.
///
/// ```yaml
/// deploy:
///   group.absent
/// ```
#[state("group.absent", strict)]
pub struct Absent {
    /// The name.
    name: String,
    /// Not supported: libuser's tools.
    local: Value,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        check_name("group", &self.name)?;
        tool::refuse(&[("local", &self.local)])?;
        if tools::find(machine, &self.name).is_none() {
            return Ok(Decision::Settled(Verdict::good("Group not present")));
        }
        let would = Verdict::would(format!("Group {} is set for removal", self.name));
        Ok(Decision::Change(Plan::default(), would.change(self.name.as_str(), "")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        Ok(match tools::delete(machine, &self.name) {
            Ok(()) => Verdict::good(format!("Removed group {}", self.name)).change(self.name.as_str(), ""),
            Err(text) => Verdict::bad(format!("Failed to remove group {}\n{text}", self.name)),
        })
    }

    fn touches(&self) -> Touches {
        account_files().writes(Thing::Group(self.name.clone()))
    }
}
