//! `timezone.system`: the target's time zone.

use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::{clock, zone};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::Probe;

/// Brings the target into a time zone.
///
/// ```yaml
/// Europe/Paris:
///   timezone.system:
///     - utc: True
/// ```
#[state("timezone.system", strict)]
pub struct System {
    /// The zone.
    name: String,
    /// The hardware clock shows UTC. `False` leaves it as it is.
    #[default(true)]
    utc: Flag,
}

impl State for System {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        let is_set = match zone::is_set(machine, name) {
            Ok(is_set) => is_set,
            Err(error) => {
                let text = format!("Unable to compare desired timezone '{name}' to system timezone: {error}");
                return Ok(Decision::Settled(Verdict::bad(text)));
            }
        };
        let set_clock = self.utc.0 && clock::is_local(machine);
        if is_set && !set_clock {
            let mut comment = format!("Timezone {name} already set");
            if self.utc.0 {
                comment += &format!(", UTC already set to {name}");
            }
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        if let Some(text) = zone::unknown(machine, name) {
            return Ok(Decision::Settled(Verdict::bad(format!("Failed to set timezone: {text}"))));
        }
        let (mut would, mut told) = (Vec::new(), Vec::new());
        let mut plan = Plan::new(Verdict::good(""));
        if !is_set {
            would.push(format!("Timezone {name} needs to be set"));
            told.push(format!("Set timezone {name}"));
            plan.done.changes.insert("timezone", name.as_str());
            plan = zone::change(machine, name).into_iter().fold(plan, Plan::then);
        }
        if set_clock {
            would.push("UTC needs to be set to True".to_owned());
            told.push("Set UTC to True".to_owned());
            plan.done.changes.insert("utc", true);
            plan = plan.then(clock::change(machine, false));
        }
        plan.done.comment = told.join(", ");
        Ok(plan
            .or(if is_set { "Failed to set UTC to True" } else { "Failed to set timezone" })
            .announced(would.join(", ")))
    }

    fn touches(&self) -> Touches {
        [zone::LOCALTIME, zone::TIMEZONE, clock::ADJTIME]
            .into_iter()
            .fold(Touches::nothing().reads(Thing::Path("/usr/share/zoneinfo".into())), |touches, path| {
                touches.writes(Thing::Path(path.into()))
            })
    }
}
