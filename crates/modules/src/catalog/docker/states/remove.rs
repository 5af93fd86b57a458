//! `docker_container.stopped` and `.absent`.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::engine::{Engine, sound};
use super::container::condition;
use super::{Decision, State, Step, Verdict, sql};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};

/// Makes sure that containers don't run.
///
/// ```yaml
/// web:
///   docker_container.stopped:
///     - shutdown_timeout: 20
/// ```
#[state("docker_container.stopped", watches)]
pub struct Stopped {
    /// The container's name.
    name: String,
    /// Several containers instead of the one.
    containers: Option<Vec<String>>,
    /// Seconds that they have to end by themselves before they are killed.
    shutdown_timeout: Option<u64>,
    /// Stop those that are paused, too.
    unpause: Flag,
    /// It is an error if one is not there at all.
    #[default(true)]
    error_on_absent: Flag,
}

/// The containers to stop, each with its state.
type ContainersStopPlan = (Engine, Vec<(String, String)>);

impl State for Stopped {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (engine, all): ContainersStopPlan = plan.into_own()?;
        let wait = self.shutdown_timeout.map(|seconds| format!("--time={seconds}"));
        let (mut changes, mut errors) = (Map::new(), Vec::new());
        for (name, before) in &all {
            let stop: Vec<&str> = ["stop"].into_iter().chain(wait.as_deref()).chain([name.as_str()]).collect();
            let freed = match *before == "paused" {
                true => engine.tell(machine, &["unpause", name]).map(drop),
                false => Ok(()),
            };
            match freed.and_then(|()| engine.tell(machine, &stop)) {
                Ok(_) => drop(changes.insert(name.as_str(), stopped(before))),
                Err(error) => errors.push(error.to_string()),
            }
        }
        if !errors.is_empty() {
            return Ok(Verdict::bad(errors.join("; ")).changes(changes));
        }
        Ok(Verdict::good(format!("The following container(s) were stopped: {}", names(&all))).changes(changes))
    }
}

impl Stopped {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<ContainersStopPlan>> {
        let engine = Engine::find(machine)?;
        let targets = self.containers.clone().unwrap_or_else(|| vec![self.name.clone()]);
        let (mut absent, mut paused, mut stop) = (Vec::new(), Vec::new(), Vec::new());
        for target in &targets {
            match engine.inspect(machine, "container", sound(target)?)?.as_ref().map(condition) {
                None => absent.push(target.as_str()),
                Some("stopped") => {}
                Some(now) => {
                    paused.extend((now == "paused").then_some(target.as_str()));
                    stop.push((target.clone(), now.to_owned()));
                }
            }
        }
        let mut errors = Vec::new();
        if self.error_on_absent.0 && !absent.is_empty() {
            errors.push(format!("The following container(s) are absent: {}", absent.join(", ")));
        }
        if !self.unpause && !paused.is_empty() {
            errors.push(format!("The following container(s) are paused: {}", paused.join(", ")));
        }
        if !errors.is_empty() {
            return sql::settled(Verdict::bad(errors.join(". ")));
        }
        if stop.is_empty() {
            let who = match targets.as_slice() {
                [one] => format!("Container '{one}' is "),
                _ => "All specified containers are ".to_owned(),
            };
            let or = if absent.is_empty() { "" } else { "absent or " };
            return sql::settled(Verdict::good(format!("{who}{or}not running")));
        }
        // As in Salt, running ones come first.
        stop.sort_by_key(|(_, now)| *now == "paused");
        let changes = stop.iter().map(|(name, now)| (name.as_str().into(), stopped(now).into())).collect();
        let would = format!("The following container(s) will be stopped: {}", names(&stop));
        Ok(Decision::Change((engine, stop), Verdict::would(would).changes(changes)))
    }
}

fn names(all: &[(String, String)]) -> String {
    all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn stopped(before: &str) -> Map {
    let state = Map::from_iter([("old".into(), before.into()), ("new".into(), "stopped".into())]);
    Map::from_iter([("result".into(), Value::Bool(true)), ("state".into(), state.into())])
}

/// Makes sure that a container is not there.
///
/// ```yaml
/// web:
///   docker_container.absent:
///     - force: true
/// ```
#[state("docker_container.absent")]
pub struct Absent {
    /// The container's name.
    name: String,
    /// Even if it runs.
    force: Flag,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (engine, done): (Engine, Verdict) = plan.into_own()?;
        let words: &[&str] = if self.force.0 { &["rm", "--force", &self.name] } else { &["rm", &self.name] };
        match engine.tell(machine, words) {
            Ok(_) => Ok(done),
            Err(error) => Ok(Verdict::bad(format!("Failed to remove container '{}': {error}", self.name))),
        }
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<(Engine, Verdict)>> {
        let engine = Engine::find(machine)?;
        let name = sound(&self.name)?;
        let Some(container) = engine.inspect(machine, "container", name)? else {
            return sql::settled(Verdict::good(format!("Container '{name}' does not exist")));
        };
        let now = condition(&container);
        if now != "stopped" && !self.force {
            return sql::settled(Verdict::bad("Container is running, set force to True to forcibly remove it"));
        }
        let id = container.walk("Id", "/").cloned().unwrap_or_default();
        let how = if now == "stopped" { "Successfully" } else { "Forcibly" };
        let done = Verdict::good(format!("{how} removed container '{name}'")).change("removed", Value::List(vec![id]));
        let would = Verdict { result: None, comment: format!("Container '{name}' will be removed"), ..done.clone() };
        Ok(Decision::Change((engine, done), would))
    }
}
