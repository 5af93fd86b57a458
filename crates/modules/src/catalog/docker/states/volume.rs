//! `docker_volume`: volumes.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::engine::{Engine, sound};
use super::{Decision, State, Step, Verdict, sql};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};

/// Makes sure that a volume is there.
///
/// ```yaml
/// data:
///   docker_volume.present:
///     - driver: local
/// ```
#[state("docker_volume.present")]
pub struct Present {
    /// The volume's name.
    name: String,
    /// What keeps it.
    driver: Option<String>,
    /// Options of what keeps it: a map, or a list of maps.
    driver_opts: Value,
    /// Replace one with another driver; what is in it is lost.
    force: Flag,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine, step))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (engine, replace, done): (Engine, bool, Verdict) = plan.into_own()?;
        let name = self.name.as_str();
        if replace && let Err(error) = engine.tell(machine, &["volume", "rm", name]) {
            return Ok(Verdict::bad(format!("Failed to remove volume '{name}': {error}")));
        }
        let mut words = vec!["volume".to_owned(), "create".into()];
        words.extend(self.driver.as_ref().map(|driver| format!("--driver={driver}")));
        words.extend(options(&self.driver_opts).into_iter().map(|option| format!("--opt={option}")));
        words.push(name.to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match engine.tell(machine, &words) {
            Ok(_) => Ok(done),
            Err(error) => Ok(Verdict::bad(format!("Failed to create volume '{name}': {error}"))),
        }
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision<(Engine, bool, Verdict)>> {
        let engine = Engine::find(machine)?;
        let name = sound(&self.name)?;
        let found = engine.inspect(machine, "volume", name)?;
        let driver = self.driver.as_deref().unwrap_or("local");
        let made = Map::from_iter([("Name".into(), name.into()), ("Driver".into(), driver.into())]);
        let created = Verdict::good("").change("created", made);
        let Some(volume) = found else {
            let comment = format!("The volume '{name}' will be created");
            let would = Verdict { result: None, comment, ..created.clone() };
            return Ok(Decision::Change((engine, false, created), would));
        };
        let has = volume.walk("Driver", "/").map(ToString::to_string).unwrap_or_default();
        match &self.driver {
            Some(wanted) if *wanted != has && !self.force => {
                let comment = format!(
                    "Driver for existing volume '{name}' ('{has}') does not match specified driver ('{wanted}') and \
                     force is False"
                );
                sql::settled(Verdict { result: if step.test { None } else { Some(false) }, ..Verdict::bad(comment) })
            }
            Some(wanted) if *wanted != has => {
                let done = created.change("removed", true);
                let comment =
                    format!("The volume '{name}' will be replaced with a new one using the driver '{wanted}'");
                let would = Verdict { result: None, comment, ..done.clone() };
                Ok(Decision::Change((engine, true, done), would))
            }
            _ => sql::settled(Verdict::good(format!("Volume '{name}' already exists."))),
        }
    }
}

/// `key=value`
pub fn options(value: &Value) -> Vec<String> {
    let pair = |(key, value): (&Value, &Value)| format!("{key}={value}");
    match value {
        Value::Map(map) => map.iter().map(pair).collect(),
        Value::List(items) => items.iter().flat_map(options).collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

/// Makes sure that a volume is not there, with what is in it.
///
/// ```yaml
/// data:
///   docker_volume.absent
/// ```
#[state("docker_volume.absent")]
pub struct Absent {
    /// The volume's name.
    name: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    driver: Value,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let engine: Engine = plan.into_own()?;
        match engine.tell(machine, &["volume", "rm", &self.name]) {
            Ok(_) => Ok(Verdict::good("").change("removed", true)),
            Err(error) => Ok(Verdict::bad(format!("Failed to remove volume '{}': {error}", self.name))),
        }
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<Engine>> {
        let engine = Engine::find(machine)?;
        match engine.inspect(machine, "volume", sound(&self.name)?)? {
            None => sql::settled(Verdict::good(format!("Volume '{}' already absent", self.name))),
            Some(_) => {
                let would = Verdict::would(format!("Volume '{}' will be removed", self.name));
                Ok(Decision::Change(engine, would.change("removed", true)))
            }
        }
    }
}
