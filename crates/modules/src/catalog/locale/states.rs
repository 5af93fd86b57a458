//! `locale`'s states.

use rocksalt_macros::state;

use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::{available, system};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{self, Probe};

/// Makes sure that there is a locale.
///
/// ```yaml
/// en_US.UTF-8:
///   locale.present
/// ```
#[state("locale.present", strict)]
pub struct Present {
    /// The locale.
    name: String,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        if available::is_there(machine, name)? {
            return Ok(Decision::Settled(Verdict::good(format!("Locale {name} is already present"))));
        }
        let failure = format!("Failed to generate locale {name}");
        let plan = Plan::new(Verdict::good(format!("Generated locale {name}")).change("locale", name.as_str()));
        let plan = match available::generation(machine, name)? {
            Ok(actions) => actions.into_iter().fold(plan, Plan::then),
            // An earlier step may install the missing program.
            Err(_) if step.test => plan,
            Err(text) => return Ok(Decision::Settled(Verdict::bad(format!("{failure}: {text}")))),
        };
        Ok(plan.or(failure).announced(format!("Locale {name} needs to be generated")))
    }

    fn apply(&self, plan: Plan, machine: &dyn machine::System, _: &Step<'_>) -> Result<Verdict> {
        let verdict = plan.carry_out(machine)?;
        // The program exits with 0 even if it generated nothing.
        if verdict.result == Some(true) && !available::is_there(machine, &self.name)? {
            let text = format!("Failed to generate locale {0}: the program succeeded, but there is no {0}", self.name);
            return Ok(Verdict::bad(text));
        }
        Ok(verdict)
    }

    fn touches(&self) -> Touches {
        ["/etc/locale.gen", "/usr/lib/locale", "/var/lib/locales"]
            .into_iter()
            .fold(Touches::nothing().reads(Thing::Path("/usr/share/i18n".into())), |touches, path| {
                touches.writes(Thing::Path(path.into()))
            })
    }
}

/// Sets the locale that programs of the system start with.
///
/// ```yaml
/// en_US.UTF-8:
///   locale.system
/// ```
#[state("locale.system", strict)]
pub struct System {
    /// The locale.
    name: String,
}

impl State for System {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = &self.name;
        system::sound(name)?;
        if system::current(machine) == *name {
            return Ok(Decision::Settled(Verdict::good(format!("System locale {name} already set"))));
        }
        let would = Verdict::would(format!("System locale {name} needs to be set")).change("locale", name.as_str());
        Ok(Decision::Change(Plan::default(), would))
    }

    fn apply(&self, _: Plan, machine: &dyn machine::System, _: &Step<'_>) -> Result<Verdict> {
        let name = &self.name;
        Ok(match system::set(machine, name) {
            Ok(()) => Verdict::good(format!("Set system locale {name}")).change("locale", name.as_str()),
            Err(error) => Verdict::bad(format!("Failed to set system locale: {error}")),
        })
    }

    fn touches(&self) -> Touches {
        let places = system::PLACES.iter().map(|(path, _)| Thing::Path((*path).into()));
        places.fold(Touches::nothing().reads(Thing::Path("/usr/lib/locale".into())), Touches::writes)
    }
}
