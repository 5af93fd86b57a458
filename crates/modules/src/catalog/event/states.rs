//! `event` as a state: sends an event to the controller during a run.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, state};

use super::super::{Decision, Function, State, StateEntry, Step, Touches, Verdict, state};
use super::Send;
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<FireMaster>(), state::<Sent>(), state::<Wait>()];

/// An event that is sent at once.
#[arguments]
pub struct EventState {
    /// The event's tag.
    name: String,
    /// What happened, as a map.
    data: Value,
    /// Accepted for compatibility with Salt, and ignored.
    preload: Value,
    /// Add the agent's variables: all, or those of a list.
    with_env: Value,
    /// Add the target's grains: all, or those of a list.
    with_grains: Value,
    /// Add the target's pillar: all, or the keys of a list.
    with_pillar: Value,
    /// Count as a change.
    #[default(true)]
    show_changed: Value,
    /// What happened, by names.
    kwargs: Map,
}

impl EventState {
    fn plan(&self) -> Result<Decision> {
        would(&self.name, &self.data, &self.show_changed).into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System) -> Result<Verdict> {
        let event = Send {
            tag: self.name.clone(),
            data: self.data.as_map().cloned(),
            preload: self.preload.clone(),
            with_env: self.with_env.clone(),
            with_grains: self.with_grains.clone(),
            with_pillar: self.with_pillar.clone(),
            with_env_opts: false,
            kwargs: self.kwargs.clone(),
        };
        sent(event, plan.into_own()?, machine)
    }
}

/// Sends an event to the controller's event bus.
///
/// ```yaml
/// mycompany/deploy/half:
///   event.send:
///     - data: {status: half of it is done}
/// ```
#[state("event.send", watches)]
pub struct Sent(EventState);

impl State for Sent {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        self.0.plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

/// Puts an event on the controller's bus; another name of `event.send`.
///
/// ```yaml
/// mycompany/deploy/half:
///   event.fire_master:
///     - data: {status: half of it is done}
/// ```
#[state("event.fire_master", watches)]
pub struct FireMaster(EventState);

impl State for FireMaster {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        self.0.plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

/// Puts an event on the controller's bus when something that it watches has changed.
///
/// ```yaml
/// mycompany/pool/update:
///   event.wait:
///     - data: {server: web1}
///     - watch:
///       - pkg: apache
/// ```
#[state("event.wait", strict, watches)]
pub struct Wait {
    /// The event's tag.
    name: String,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    sfun: Value,
    /// What happened, as a map.
    data: Value,
}

impl State for Wait {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let changes: Map = plan.into_own()?;
        let data = self.data.as_map().cloned();
        sent(Send { tag: self.name.clone(), data, ..Send::default() }, changes, machine)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        would(&self.name, &self.data, &yes()).into_plan()
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

fn yes() -> Value {
    true.into()
}

fn would(tag: &str, data: &Value, show: &Value) -> Decision<Map> {
    let mut changes = Map::new();
    if show.truth() {
        changes.insert("tag", tag);
        changes.insert("data", data.clone());
    }
    Decision::Change(changes.clone(), Verdict::would("Event would have been fired").changes(changes))
}

fn sent(event: Send, changes: Map, machine: &dyn System) -> Result<Verdict> {
    event.call(machine)?;
    Ok(Verdict::good("Event fired").changes(changes))
}
