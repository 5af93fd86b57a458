//! `alias`'s states.

use rocksalt_macros::state;

use super::text;
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::{Decision, State, Step, Thing, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that mail for an alias goes somewhere.
///
/// ```yaml
/// postmaster:
///   alias.present:
///     - target: ops@example.com
/// ```
#[state("alias.present", strict, required("target"))]
pub struct Present {
    /// The alias.
    name: String,
    /// Where its mail goes: one target, or a list of them.
    #[required]
    target: Vec<String>,
}

/// Makes sure that there is no such alias.
///
/// ```yaml
/// old-list:
///   alias.absent
/// ```
#[state("alias.absent", strict)]
pub struct Absent {
    /// The alias.
    name: String,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (name, target) = (&self.name, self.target.join(", "));
        text::check(name, &target)?;
        let old = text::read(machine)?;
        if text::target(&old, name) == Some(&target) {
            return Ok(Decision::Settled(Verdict::good(format!("Alias {name} already present"))));
        }
        let would = Verdict::would(format!("Alias {name} -> {} is set to be added", self.shown()));
        Decision::own(&text::changed(&old, name, Some(&target)), would.change("alias", name.as_str()))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let new: String = plan.into_own()?;
        let (name, target) = (&self.name, self.shown());
        Ok(match text::write(machine, &new) {
            Ok(()) => Verdict::good(format!("Set email alias {name} -> {target}")).change("alias", name.as_str()),
            Err(text) => Verdict::bad(format!("Failed to set alias {name} -> {target}\n{text}")),
        })
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl Present {
    /// The targets in Salt's form: several as a list.
    fn shown(&self) -> String {
        match self.target.as_slice() {
            [one] => one.clone(),
            several => crate::catalog::user::tool::texts(several.iter().cloned()).to_string(),
        }
    }
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let old = text::read(machine)?;
        if text::target(&old, name).is_none() {
            return Ok(Decision::Settled(Verdict::good(format!("Alias {name} already absent"))));
        }
        let would = Verdict::would(format!("Alias {name} is set to be removed")).change("alias", name.as_str());
        Decision::own(&text::changed(&old, name, None), would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let new: String = plan.into_own()?;
        let name = &self.name;
        Ok(match text::write(machine, &new) {
            Ok(()) => Verdict::good(format!("Removed alias {name}")).change("alias", name.as_str()),
            Err(text) => Verdict::bad(format!("Failed to remove alias {name}\n{text}")),
        })
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

fn touches() -> Touches {
    Touches::nothing().writes(Thing::Path("/etc/aliases".into())).writes(Thing::Path("/etc/aliases.db".into()))
}
