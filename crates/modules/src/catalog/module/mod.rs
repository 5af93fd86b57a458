//! `module`: calls functions as states.

mod classic;
mod modern;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::{Decision, State, StateEntry, Step, Verdict, state};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

pub const STATES: &[StateEntry] = &[state::<Run>(), state::<Wait>(), state::<Watch>()];

/// Calls functions.
///
/// ```yaml
/// reload:
///   module.run:
///     - test.echo:
///       - text: hello
///     - system.reboot: []
/// ```
///
/// Salt's older form is taken too: one function as the name, its arguments beside it, `m_name` for
/// one that is called `name`, `args` for a list of further ones, `kwargs` for a map.
///
/// ```yaml
/// reload:
///   module.run:
///     - name: test.echo
///     - text: hello
/// ```
///
/// A function that answers `False`, or a map with `result: False` or a `retcode` that is not 0, has failed.
#[state("module.run", watches)]
pub struct Run {
    /// Functions with their arguments, or one function's arguments.
    kwargs: Map,
}

/// Calls functions if something that it watches has changed; otherwise as `module.run`.
///
/// ```yaml
/// reload:
///   module.wait:
///     - name: test.echo
///     - text: hello
///     - watch:
///       - file: /etc/motd
/// ```
#[state("module.wait", watches)]
pub struct Wait {
    /// Functions with their arguments, or one function's arguments.
    kwargs: Map,
}

/// The same as `module.wait`.
///
/// ```yaml
/// reload:
///   module.watch:
///     - name: test.echo
///     - text: hello
///     - watch:
///       - file: /etc/motd
/// ```
#[state("module.watch", watches)]
pub struct Watch {
    /// Functions with their arguments, or one function's arguments.
    kwargs: Map,
}

impl State for Run {
    fn plan(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(plan(&self.kwargs, step))
    }

    fn apply(&self, _: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        apply(&self.kwargs, machine, step)
    }
}

impl State for Wait {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        apply(&self.kwargs, machine, step)
    }

    fn watched(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(plan(&self.kwargs, step))
    }
}

impl State for Watch {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(Verdict::good("")))
    }

    fn apply(&self, _: Plan, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
        apply(&self.kwargs, machine, step)
    }

    fn watched(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(plan(&self.kwargs, step))
    }
}

fn plan(given: &Map, step: &Step<'_>) -> Decision {
    match is_classic(given) {
        true => classic::plan(step.name),
        false => modern::plan(&own(given), step.test),
    }
}

fn apply(given: &Map, machine: &dyn System, step: &Step<'_>) -> Result<Verdict> {
    match is_classic(given) {
        true => Ok(classic::apply(step.name, &own(given), machine)),
        false => modern::apply(&own(given), machine),
    }
}

/// Arguments that the run adds.
const OTHERS: [&str; 3] = ["name", "__reqs__", "sfun"];

fn own(given: &Map) -> Map {
    let keep = |key: &Value| !key.as_str().is_some_and(|key| OTHERS.contains(&key));
    given.iter().filter(|(key, _)| keep(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whether an argument is not the name of a function, or there are no arguments at all: then it is the older form.
fn is_classic(given: &Map) -> bool {
    let own = own(given);
    own.is_empty() || own.keys().any(|key| !key.to_string().contains('.'))
}

/// Whether a function's result means success.
fn succeeded(answer: &Value) -> bool {
    match answer {
        Value::Bool(flag) => *flag,
        Value::Map(map) => map.iter().all(|(key, value)| match (key.as_str(), value) {
            (Some("result"), Value::Bool(false)) => false,
            (Some("retcode"), value) if !is_zero(value) => false,
            (_, Value::Map(_)) => succeeded(value),
            _ => true,
        }),
        _ => true,
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Int(0) | Value::Bool(false)) || matches!(value, Value::Float(number) if *number == 0.0)
}
