//! [`Plan`]: what a state will do, as data: it can be printed, hashed, stored and carried out later.
//!
//! A plan can contain everything that it writes and runs, including passwords: it is as secret as the pillar.

mod action;
mod apply;
mod text;

pub use action::{Action, ContentCheck};
pub use apply::{apply_action, errno_text};

use rocksalt_core::value::{from_value, to_value};
use rocksalt_core::{Map, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Decision, Verdict};
use crate::machine::Command;
use crate::{Error, Result};

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The actions, carried out in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Action>,
    /// The verdict if every action succeeds.
    #[serde(default)]
    pub done: Verdict,
    /// The text before the reason if an action fails.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    failure: String,
    #[serde(default)]
    wording: Wording,
    /// The changes of the first action, reported if a later one fails.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    first_changes: Map,
    /// Additional data for a state with its own `apply`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    own: Value,
}

/// How a failure is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wording {
    /// A heading, the command with all its output, and the number of actions done before it.
    #[default]
    Full,
    /// A prefix and the reason on one line, as in Salt's file states; system errors in Python's wording.
    Brief,
    /// A prefix, the command, its exit code and its output; a command that can't be started is an error of the step.
    Command,
}

impl Plan {
    pub fn new(done: Verdict) -> Plan {
        Plan { done, ..Plan::default() }
    }

    /// A plan whose failures are reported as in Salt's file states.
    pub fn brief(done: Verdict) -> Plan {
        Plan { wording: Wording::Brief, ..Plan::new(done) }
    }

    /// A plan that runs one command, with the verdict of success.
    pub fn command(command: Command, done: Verdict, failure: impl Into<String>) -> Plan {
        Plan { wording: Wording::Command, ..Plan::new(done) }.then(Action::Run(command)).or(failure)
    }

    /// A plan without actions, for a state that carries it out itself.
    pub fn own<T: Serialize>(data: &T) -> Result<Plan> {
        Plan::default().with_own(data)
    }

    pub fn with_own<T: Serialize>(mut self, data: &T) -> Result<Plan> {
        self.own = to_value(data).map_err(|error| Error::failed(format!("the plan can't be stored: {error}")))?;
        Ok(self)
    }

    pub fn into_own<T: DeserializeOwned>(mut self) -> Result<T> {
        self.take_own()
    }

    pub fn take_own<T: DeserializeOwned>(&mut self) -> Result<T> {
        from_value(std::mem::take(&mut self.own))
            .map_err(|error| Error::failed(format!("the plan is not one of this state: {error}")))
    }

    #[must_use]
    pub fn then(mut self, action: Action) -> Plan {
        self.actions.push(action);
        self
    }

    #[must_use]
    pub fn all(mut self, actions: impl IntoIterator<Item = Action>) -> Plan {
        self.actions.extend(actions);
        self
    }

    /// Adds a program to run; its failure ends the plan.
    #[must_use]
    pub fn run<S: AsRef<str>>(self, argv: &[S]) -> Plan {
        self.then(Action::Run(super::tool::command(argv)))
    }

    /// Adds the replacement of a whole file, including its parent directories.
    #[must_use]
    pub fn write(self, path: &str, content: impl Into<Vec<u8>>) -> Plan {
        self.then(Action::write_with_parents(path, content))
    }

    /// Sets the text before the reason if an action fails: a heading, or a prefix in a brief plan.
    #[must_use]
    pub fn or(mut self, failure: impl Into<String>) -> Plan {
        self.failure = failure.into();
        self
    }

    /// Declares that the first action makes all changes of the plan: they are reported even if a later one fails.
    #[must_use]
    pub fn changed_by_first(self) -> Plan {
        Plan { first_changes: self.done.changes.clone(), ..self }
    }

    /// The decision for this plan. A dry run reports this comment, with the changes that the real run would report.
    pub fn announced(self, comment: impl Into<String>) -> Decision {
        let would = Verdict { changes: self.done.changes.clone(), ..Verdict::would(comment) };
        Decision::Change(self, would)
    }

    pub fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    /// The plan as a value, which [`Plan::from_value`] reads.
    pub fn to_value(&self) -> Result<Value> {
        to_value(self).map_err(|error| Error::failed(format!("the plan can't be stored: {error}")))
    }

    pub fn from_value(value: Value) -> Result<Plan> {
        from_value(value).map_err(|error| Error::failed(format!("that is no plan: {error}")))
    }
}

impl Action {
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Action {
        Action::Write { path: path.into(), content: content.into(), mode: None, parents: false }
    }

    pub fn write_with_parents(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Action {
        Action::Write { path: path.into(), content: content.into(), mode: None, parents: true }
    }

    /// A command whose failure doesn't matter, since a later action achieves the same in another way.
    pub fn try_run(command: Command) -> Action {
        Action::TryRun { command, failure: None }
    }
}
