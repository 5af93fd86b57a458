//! `test.configurable_test_state`: ends with the requested result.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::{FixedVerdict, Step, Verdict, pretended, words};
use crate::machine::Probe;
use crate::{Error, Result};

/// Ends as its arguments say.
///
/// ```yaml
/// as told:
///   test.configurable_test_state:
///     - changes: True
///     - result: False
///     - comment: it did not work
/// ```
#[state("test.configurable_test_state", watches, strict)]
pub struct ConfigurableTestState {
    /// Whether it says that something changed; `Random` for either.
    #[default(true)]
    changes: Value,
    /// Whether it succeeds; `Random` for either.
    #[default(true)]
    result: Value,
    /// What it says.
    comment: Value,
    /// A warning, or a list of them.
    warnings: Value,
    /// A dry run fails too, if `result` is false.
    allow_test_mode_failure: Value,
}

impl FixedVerdict for ConfigurableTestState {
    fn says(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Verdict> {
        let changed = choose("changes", &self.changes, machine)?;
        let result = choose("result", &self.result, machine)?;
        let warnings = match &self.warnings {
            Value::Null => Vec::new(),
            Value::String(text) => vec![text.clone()],
            Value::List(texts) => texts.iter().map(ToString::to_string).collect(),
            _ => return Err(invalid("warnings", "be a string or a list of strings")),
        };
        let comment = if self.comment.is_null() { String::new() } else { words(&self.comment) };
        let mut verdict = Verdict { result: Some(result), comment, warnings, ..Verdict::default() };
        if changed {
            verdict.changes = pretended();
        }
        if step.test {
            let fails = self.allow_test_mode_failure.truth() && self.result == Value::Bool(false);
            verdict.result = match fails {
                true => Some(false),
                false => (self.changes == Value::Bool(false)).then_some(true),
            };
            if !self.comment.truth() {
                verdict.comment = "This is a test".into();
            }
        }
        Ok(verdict)
    }
}

fn choose(argument: &str, value: &Value, machine: &dyn Probe) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other if other.to_string().eq_ignore_ascii_case("random") => Ok(coin(machine)),
        _ => Err(invalid(argument, "be either True, False, or 'Random'")),
    }
}

fn invalid(argument: &str, must: &str) -> Error {
    Error::arguments(format!("You have specified the state option '{argument}' with invalid arguments. It must {must}"))
}

fn coin(machine: &dyn Probe) -> bool {
    match machine.read_at(Path::new("/dev/urandom"), 0, 1).as_deref() {
        Ok([byte]) => byte & 1 == 1,
        _ => machine.now().to_bits() & 1 == 1,
    }
}
