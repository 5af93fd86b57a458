//! `test`'s states: they change nothing, and return the requested result.

mod check_pillar;
mod configurable;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::arguments::{Arguments, StateAttributes};
use super::super::{Decision, State, StateEntry, Step, Touches, Verdict, state};
use crate::machine::Probe;
use crate::{Error, Result};

pub const STATES: &[StateEntry] = &[
    state::<check_pillar::CheckPillar>(),
    state::<configurable::ConfigurableTestState>(),
    state::<FailWithChanges>(),
    state::<FailWithoutChanges>(),
    state::<Nop>(),
    state::<ShowNotification>(),
    state::<SucceedWithChanges>(),
    state::<SucceedWithoutChanges>(),
];

/// A state with a fixed verdict, which needs no plan.
trait FixedVerdict: Arguments + StateAttributes {
    fn says(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Verdict>;
}

impl<T: FixedVerdict> State for T {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        self.says(machine, step).map(Decision::Settled)
    }

    fn watched(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        Ok(Decision::Settled(watched(step)))
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

/// Does nothing and succeeds, whatever its arguments.
///
/// ```yaml
/// anchor:
///   test.nop:
///     - require:
///       - sls: base
/// ```
#[state("test.nop", watches)]
pub struct Nop {
    /// Anything.
    #[allow(dead_code, reason = "it takes everything and uses nothing")]
    kwargs: Map,
}

impl FixedVerdict for Nop {
    fn says(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Verdict> {
        Ok(Verdict::good("Success!"))
    }
}

/// Succeeds without changes.
///
/// ```yaml
/// fine:
///   test.succeed_without_changes:
///     - comment: all is well
/// ```
#[state("test.succeed_without_changes", watches)]
pub struct SucceedWithoutChanges {
    /// `comment`, and anything else.
    kwargs: Map,
}

impl FixedVerdict for SucceedWithoutChanges {
    fn says(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Verdict> {
        Ok(Verdict::good(comment(&self.kwargs, "Success!")))
    }
}

/// Fails without changes.
///
/// ```yaml
/// OS not supported!:
///   test.fail_without_changes:
///     - failhard: True
/// ```
#[state("test.fail_without_changes", watches)]
pub struct FailWithoutChanges {
    /// `comment`, and anything else.
    kwargs: Map,
}

impl FixedVerdict for FailWithoutChanges {
    fn says(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Verdict> {
        Ok(match step.test {
            true => Verdict::bad("If we weren't testing, this would be a failure!"),
            false => Verdict::bad(comment(&self.kwargs, "Failure!")),
        })
    }
}

/// Succeeds, and says that something changed.
///
/// ```yaml
/// changed:
///   test.succeed_with_changes
/// ```
#[state("test.succeed_with_changes", watches)]
pub struct SucceedWithChanges {
    /// `comment`, and anything else.
    kwargs: Map,
}

impl FixedVerdict for SucceedWithChanges {
    fn says(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Verdict> {
        Ok(match step.test {
            true => Verdict::would("If we weren't testing, this would be successful with changes"),
            false => Verdict::good(comment(&self.kwargs, "Success!")),
        }
        .changes(pretended()))
    }
}

/// Fails, and says that something changed.
///
/// ```yaml
/// half done:
///   test.fail_with_changes
/// ```
#[state("test.fail_with_changes", watches)]
pub struct FailWithChanges {
    /// `comment`, and anything else.
    kwargs: Map,
}

impl FixedVerdict for FailWithChanges {
    fn says(&self, _: &dyn Probe, step: &Step<'_>) -> Result<Verdict> {
        Ok(match step.test {
            true => Verdict::would("If we weren't testing, this would be failed with changes"),
            false => Verdict::bad(comment(&self.kwargs, "Failure!")),
        }
        .changes(pretended()))
    }
}

/// Succeeds, with a text as its comment.
///
/// ```yaml
/// hint:
///   test.show_notification:
///     - text: Log in again to see the new groups.
/// ```
#[state("test.show_notification", watches)]
pub struct ShowNotification {
    /// What to say.
    text: Value,
    /// Anything.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl FixedVerdict for ShowNotification {
    fn says(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Verdict> {
        match self.text.truth() {
            true => Ok(Verdict::good(words(&self.text))),
            false => Err(Error::arguments("Missing required argument text.")),
        }
    }
}

fn pretended() -> Map {
    let change = Map::from_iter([
        ("old".into(), "Unchanged".into()),
        ("new".into(), Value::from("Something pretended to change")),
    ]);
    Map::from_iter([("testing".into(), change.into())])
}

fn comment(arguments: &Map, otherwise: &str) -> String {
    arguments.get("comment").map_or_else(|| otherwise.to_owned(), words)
}

/// A list is joined to lines.
fn words(comment: &Value) -> String {
    match comment {
        Value::List(lines) => lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The verdict of every state of `test` if a watched state has changed.
fn watched(step: &Step<'_>) -> Verdict {
    let result = step.low.get("result").map_or(Some(true), |result| (!result.is_null()).then(|| result.truth()));
    let comment = comment(step.low, "Watch statement fired.");
    let changes = match step.low.get("changes") {
        Some(Value::Map(changes)) => changes.clone(),
        Some(_) => {
            return Verdict::bad("An exception occurred in this state: 'Changes' should be a dictionary.");
        }
        None => {
            let reqs = step.low.get("__reqs__").and_then(|reqs| reqs.as_map()?.get("watch"));
            Map::from_iter([("Requisites with changes".into(), reqs.cloned().unwrap_or(Value::List(Vec::new())))])
        }
    };
    Verdict { result, comment, changes, ..Verdict::default() }
}
