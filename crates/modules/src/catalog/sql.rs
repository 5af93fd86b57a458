//! Shared code of the database states: statements in order, and the verdict if all succeed.

use rocksalt_core::{Map, Value, call::ProblemKind};
use serde::{Deserialize, Serialize};

use super::{Decision, Verdict};
use crate::Result;
use crate::machine::System;

/// The statements to run on a server.
#[derive(Serialize, Deserialize)]
pub struct SqlPlan {
    pub statements: Vec<String>,
    /// The verdict if every statement succeeds.
    pub done: Verdict,
    /// The comment if one fails, followed by the server's reason.
    pub failed: String,
}

impl SqlPlan {
    /// Runs the statements. `tell` runs one, and returns the server's reason if it refuses.
    pub fn carry_out(
        self,
        machine: &dyn System,
        tell: &dyn Fn(&str) -> Result<std::result::Result<(), String>>,
    ) -> Result<Verdict> {
        let count = self.statements.len();
        for (done, statement) in self.statements.iter().enumerate() {
            if machine.cancelled() {
                return Err(crate::Error::cancelled());
            }
            if let Err(reason) = tell(statement)? {
                let before = match done {
                    0 => String::new(),
                    _ => format!("; {done} of {count} statements were done before"),
                };
                return Ok(Verdict::bad(format!("{} ({reason}){before}", self.failed)));
            }
        }
        Ok(self.done)
    }

    /// The decision for this plan; a dry run reports the changes of a real run.
    pub fn decide(self, would: impl Into<String>) -> Result<Decision<SqlPlan>> {
        let verdict = Verdict { comment: would.into(), result: None, ..self.done.clone() };
        Ok(Decision::Change(self, verdict))
    }
}

/// A decision with nothing to do.
pub fn settled<P>(verdict: Verdict) -> Result<Decision<P>> {
    Ok(Decision::Settled(verdict))
}

/// Turns an error while looking into the step's verdict, with the server's message unchanged.
pub fn or_bad<P>(looked: Result<Decision<P>>) -> Result<Decision<P>> {
    match looked.map_err(crate::Error::problem) {
        Ok(decision) => Ok(decision),
        Err(problem) if matches!(problem.kind, ProblemKind::Failed | ProblemKind::Arguments) => {
            let hints: String = problem.hint.iter().map(|hint| format!("\nhint: {hint}")).collect();
            settled(Verdict::bad(problem.text + &hints))
        }
        Err(problem) => Err(problem.into()),
    }
}

/// A column of a row as text; empty for NULL.
pub fn text<'a>(row: &'a Map, column: &str) -> &'a str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

/// Removes secrets from a text: servers quote statements that they reject.
pub fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "***");
    }
    text
}
