//! `environ.setenv`: sets variables of the agent.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::{Decision, State, StateEntry, Step, StepJoin, Thing, Touches, Verdict, state};
use super::{new_value, valid};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<SetEnv>()];

/// Sets variables of the agent, which the commands it runs inherit.
///
/// ```yaml
/// EDITOR:
///   environ.setenv:
///     - value: vi
/// several:
///   environ.setenv:
///     - value: {PAGER: less, LESS: False}
///     - false_unsets: True
/// ```
#[state("environ.setenv", strict, required("value"))]
pub struct SetEnv {
    /// The variable, if `value` is a text.
    #[default]
    name: String,
    /// Its value, or a map of names and values; `False` for none.
    value: Value,
    /// `False` removes a variable; else it makes it empty.
    false_unsets: Value,
    /// Remove all others.
    clear_all: Value,
    /// Accepted and ignored: nothing else is there to update.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    update_minion: Value,
    /// Only used on Windows.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    permanent: Value,
}

impl State for SetEnv {
    const JOIN: Option<&'static StepJoin> = Some(&StepJoin { key, join, part });
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let Some(wanted) = self.wanted() else {
            return Ok(Decision::Settled(Verdict::bad("Environ value must be string, dict or False")));
        };
        for name in wanted.keys() {
            valid(&name.to_string())?;
        }
        let changes = self.changes(machine, &wanted);
        if changes.is_empty() {
            let are = if step.test { "are" } else { "were" };
            let text = format!("Environ values {are} already set with the correct values");
            return Ok(Decision::Settled(Verdict::good(text)));
        }
        // As in Salt, the result here is true, not null.
        let would = Verdict::good("Environ values will be changed").changes(changes.clone());
        Decision::own(&changes, would)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let changes: Map = plan.into_own()?;
        let wanted = self.wanted().unwrap_or_default();
        let text_or_false = |value: &Value| matches!(value, Value::String(_) | Value::Bool(false));
        if !wanted.values().all(text_or_false) {
            // Salt sets those before the first invalid one; here all are checked before any is set.
            return Ok(Verdict::bad("Failed to set environ variables").changes(changes));
        }
        let cleared = self.cleared(machine, &wanted).into_iter().map(|name| (Value::from(name), Value::Bool(false)));
        let mut set = Map::new();
        for (name, value) in cleared.chain(wanted) {
            let key = name.to_string();
            let value = new_value(&key, &value, self.unsets())?;
            machine.set_env(&key, value.as_deref());
            set.insert(name, value);
        }
        Ok(match set.is_empty() {
            true => Verdict::bad("Failed to set environ variables").changes(changes),
            false => Verdict::good("Environ values were set").changes(set).output("changed", changes),
        })
    }

    fn touches(&self) -> Touches {
        match self.wanted() {
            Some(wanted) if self.clear_all != Value::Bool(true) => {
                let variables = wanted.keys().map(|name| Thing::Variable(name.to_string()));
                variables.fold(Touches::nothing(), Touches::writes)
            }
            _ => Touches::everything(),
        }
    }
}

impl SetEnv {
    fn wanted(&self) -> Option<Map> {
        match &self.value {
            Value::String(_) | Value::Bool(false) => {
                Some(Map::from_iter([(self.name.as_str().into(), self.value.clone())]))
            }
            Value::Map(wanted) => Some(wanted.clone()),
            _ => None,
        }
    }

    fn unsets(&self) -> bool {
        self.false_unsets == Value::Bool(true)
    }

    /// The variables that `clear_all` affects.
    fn cleared(&self, machine: &dyn Probe, wanted: &Map) -> Vec<String> {
        if self.clear_all != Value::Bool(true) {
            return Vec::new();
        }
        machine.environment().into_iter().map(|(name, _)| name).filter(|name| !wanted.contains_key(name)).collect()
    }

    fn changes(&self, machine: &dyn Probe, wanted: &Map) -> Map {
        let emptied = || if self.unsets() { Value::Null } else { "".into() };
        let mut changes: Map = self.cleared(machine, wanted).into_iter().map(|name| (name.into(), emptied())).collect();
        for (name, value) in wanted.iter() {
            let now = machine.env(&name.to_string());
            let differs = match value {
                Value::Bool(false) if self.unsets() => now.is_some(),
                Value::Bool(false) => now.as_deref() != Some(""),
                value => value.as_str() != Some(now.as_deref().unwrap_or_default()),
            };
            if differs {
                let value = if *value == Value::Bool(false) { emptied() } else { value.clone() };
                changes.insert(name.clone(), value);
            }
        }
        changes
    }
}

/// Simple steps can be merged; `clear_all` affects all existing variables.
fn key(arguments: &Map) -> Option<String> {
    let clears = arguments.get("clear_all").is_some_and(Value::truth);
    let unsets = arguments.get("false_unsets").is_some_and(|flag| *flag == Value::Bool(true));
    (!clears && wished_by(arguments).is_some()).then(|| format!("false_unsets={unsets}"))
}

/// The variables in a step's untyped arguments.
fn wished_by(arguments: &Map) -> Option<Map> {
    match arguments.get("value")? {
        value @ (Value::String(_) | Value::Bool(false)) => {
            Some(Map::from_iter([(arguments.get("name")?.clone(), value.clone())]))
        }
        Value::Map(wanted) => Some(wanted.clone()),
        _ => None,
    }
}

fn join(all: &[&Map]) -> Option<Map> {
    let mut joined = (*all.first()?).clone();
    let mut wanted = Map::new();
    for (name, value) in
        all.iter().map(|arguments| wished_by(arguments)).collect::<Option<Vec<_>>>()?.into_iter().flatten()
    {
        if wanted.insert(name, value).is_some() {
            // Set by two steps, so they must run one after another.
            return None;
        }
    }
    joined.insert("value", wanted);
    Some(joined)
}

fn part(arguments: &Map, whole: &Verdict, test: bool) -> Verdict {
    let own = wished_by(arguments).unwrap_or_default();
    let own_of = |map: &Map| -> Map {
        let own = map.iter().filter(|(name, _)| own.get_value(name).is_some());
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let changed = if test { Some(&whole.changes) } else { whole.outputs.get("changed").and_then(Value::as_map) };
    let changed = changed.map(own_of).unwrap_or_default();
    match (changed.is_empty(), test) {
        (true, true) => Verdict::good("Environ values are already set with the correct values"),
        (true, false) => Verdict::good("Environ values were already set with the correct values"),
        (false, true) => Verdict::good("Environ values will be changed").changes(changed),
        (false, false) => {
            Verdict::good(whole.comment.as_str()).changes(own_of(&whole.changes)).output("changed", changed)
        }
    }
}
