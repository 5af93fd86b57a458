//! [`State`]: the contract of a state, which separates looking from changing.

use rocksalt_core::value::FromValueError;
use rocksalt_core::{Map, nearest};
use serde::Serialize;

use super::arguments::{Arguments, NAMED, StateAttributes, read, usage};
#[cfg(feature = "docs")]
use super::description::FunctionDescription;
use super::plan::Plan;
use super::verdict::Verdict;
use super::{Thing, Touches};
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// A desired state, with the arguments that users write below it.
///
/// `#[state("noun.adjective")]` on the struct of its arguments defines the rest. Arguments that all states have
/// (`require`, `unless`, `retry` …) never arrive here.
pub trait State: Arguments + StateAttributes {
    /// How to merge several steps of this state, if possible.
    const JOIN: Option<&'static StepJoin> = None;

    /// Looks at the machine and decides. It can't change anything: a dry run ends with this.
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision>;

    /// Carries out the plan, and reports the changes. A state only needs its own implementation if actions don't
    /// suffice.
    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        plan.carry_out(machine)
    }

    /// Makes the plan if a watched state has changed (Salt's `mod_watch`).
    fn watched(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.plan(machine, step)
    }

    /// What the state reads and writes, so that independent steps may overlap.
    fn touches(&self) -> Touches {
        Touches::everything()
    }
}

/// How to merge steps of one state: forty packages in one transaction.
///
/// It works on untyped arguments, so that it costs nothing for states without it.
pub struct StepJoin {
    /// Steps with the same key can be merged; `None`: this one can't.
    pub key: fn(&Map) -> Option<String>,
    /// The arguments of the one step that does the work of all; the first one determines the rest. `None` if they can't
    /// be merged after all.
    pub join: fn(&[&Map]) -> Option<Map>,
    /// The verdict of one step as if it had run alone, from the verdict of the merged one; `true` for a dry run. Only
    /// called if the merged step succeeded; if it failed, each step runs alone.
    pub part: fn(&Map, &Verdict, bool) -> Verdict,
}

/// The result of looking.
pub enum Decision<P = Plan> {
    /// There is nothing to do, or nothing can be done: this is the verdict in every mode.
    Settled(Verdict),
    /// The plan, and the verdict of a dry run.
    Change(P, Verdict),
}

impl Decision {
    /// A change by the state's own `apply`, which gets this data.
    pub fn own<T: Serialize>(data: &T, would: Verdict) -> Result<Decision> {
        Ok(Decision::Change(Plan::own(data)?, would))
    }
}

impl<P> Decision<P> {
    pub fn map<Q>(self, with: impl FnOnce(P) -> Q) -> Decision<Q> {
        match self {
            Decision::Settled(verdict) => Decision::Settled(verdict),
            Decision::Change(plan, verdict) => Decision::Change(with(plan), verdict),
        }
    }
}

impl<P: Serialize> Decision<P> {
    /// Moves the data into a plan, for the state's own `apply`.
    pub fn into_plan(self) -> Result<Decision> {
        Ok(match self {
            Decision::Settled(verdict) => Decision::Settled(verdict),
            Decision::Change(data, verdict) => Decision::Change(Plan::own(&data)?, verdict),
        })
    }
}

/// The step of a run that a state is called for.
pub struct Step<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub sls: &'a str,
    pub saltenv: &'a str,
    /// The step as `state show-low` prints it, with the arguments that all states have.
    pub low: &'a Map,
    /// A dry run: only [`State::plan`] is called.
    pub test: bool,
}

/// A state in the catalog.
pub struct StateEntry {
    pub name: &'static str,
    /// The names of its arguments, in order.
    pub arguments: &'static [&'static str],
    pub required: &'static [&'static str],
    pub watches: bool,
    /// As [`StateAttributes::STRICT`].
    pub strict: bool,
    /// As [`StateAttributes::AGGREGATES`].
    pub aggregates: bool,
    pub join: Option<&'static StepJoin>,
    read: fn(Map) -> Result<Box<dyn DynState>, FromValueError>,
    #[cfg(feature = "docs")]
    pub description: fn() -> FunctionDescription,
}

/// A state with its arguments, independent of its type.
trait DynState {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>, watched: bool) -> Result<Decision>;
    fn carry_out(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict>;
    fn touched(&self) -> Touches;
}

impl<S: State> DynState for S {
    fn decide(&self, machine: &dyn Probe, step: &Step<'_>, watched: bool) -> Result<Decision> {
        if watched { self.watched(machine, step) } else { self.plan(machine, step) }
    }

    fn carry_out(&self, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        self.apply(plan, machine, step)
    }

    fn touched(&self) -> Touches {
        self.touches()
    }
}

/// The catalog entry of a state.
pub const fn state<S: State + 'static>() -> StateEntry {
    StateEntry {
        name: S::NAME,
        arguments: S::NAMES,
        required: S::REQUIRED,
        watches: S::WATCHES,
        strict: S::STRICT,
        aggregates: S::AGGREGATES,
        join: S::JOIN,
        read: |arguments| Ok(Box::new(read::<S>(arguments)?)),
        #[cfg(feature = "docs")]
        description: FunctionDescription::of_state::<S>,
    }
}

/// A state with its arguments.
pub struct Bound {
    arguments: Map,
    /// A warning for each unknown argument, with the nearest known spelling. Salt silently ignores most of them.
    pub strange: Vec<String>,
}

impl StateEntry {
    /// Assigns a step's own arguments, including `name`, to the state's fields.
    pub fn bind(&self, given: Map) -> Bound {
        let fields = self.arguments;
        let takes_named = fields.contains(&NAMED);
        let (mut arguments, mut named, mut strange) = (Map::new(), Map::new(), Vec::new());
        for (key, value) in given {
            let name = key.as_str().unwrap_or_default();
            if name != NAMED && fields.contains(&name) {
                arguments.insert(key, value);
            } else if takes_named {
                named.insert(key, value);
            } else if !name.starts_with("__") && name != "name" {
                strange.push(format!(
                    "{}: no argument '{key}'{}",
                    self.name,
                    nearest::hint(name, fields.iter().copied())
                ));
            }
        }
        if takes_named {
            arguments.insert(NAMED, named);
        }
        Bound { arguments, strange }
    }

    /// Applies the state, or in a dry run only reports what would change.
    ///
    /// `watched`: something that it watches has changed.
    pub fn call(&self, bound: Bound, machine: &dyn System, step: &Step<'_>, watched: bool) -> Result<Verdict> {
        let state = self.read(bound)?;
        match state.decide(machine, step, watched)? {
            Decision::Settled(verdict) => Ok(verdict),
            Decision::Change(_, verdict) if step.test => Ok(verdict),
            Decision::Change(plan, _) => state.carry_out(plan, machine, step),
        }
    }

    /// Looks and decides: the plan can be stored, and carried out later by [`StateEntry::apply`].
    pub fn plan(&self, bound: Bound, machine: &dyn Probe, step: &Step<'_>, watched: bool) -> Result<Decision> {
        self.read(bound)?.decide(machine, step, watched)
    }

    /// Carries out a plan that was made with the same arguments.
    pub fn apply(&self, bound: Bound, plan: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        self.read(bound)?.carry_out(plan, machine, step)
    }

    fn read(&self, bound: Bound) -> Result<Box<dyn DynState>> {
        (self.read)(bound.arguments)
            .map_err(|error| Error::arguments(format!("{}: {error}", self.name)).hint(usage(self.name)))
    }

    pub fn touches(&self, bound: Bound) -> Touches {
        let owners = owners(&bound.arguments);
        let mut touches = (self.read)(bound.arguments).map_or_else(|_| Touches::everything(), |state| state.touched());
        touches.reads.extend(owners);
        touches
    }

    /// Why the state can't accept these arguments; `None` if it can.
    pub fn misfit(&self, bound: Bound) -> Option<String> {
        (self.read)(bound.arguments).err().map(|error| error.to_string())
    }
}

/// Users and groups in the arguments must exist before the step, whatever the state.
fn owners(arguments: &Map) -> Vec<Thing> {
    let named = [("user", Thing::User as fn(String) -> Thing), ("runas", Thing::User), ("group", Thing::Group)];
    let named = named.into_iter().filter_map(|(key, thing)| Some((arguments.get(key)?.as_str()?, thing)));
    named.filter(|(name, _)| !name.is_empty()).map(|(name, thing)| thing(name.to_owned())).collect()
}
