//! `cmd.call`: runs a function, and makes its result the state's.

use rocksalt_core::{Call, Map, Value};
use rocksalt_macros::{arguments, state};

use super::{Decision, State, Step, Verdict, waiting};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Calls a function and takes its answer for the result.
///
/// In Salt the function is one of Python's, and only templates in Python can name one. Here it is
/// named as everywhere else:
///
/// ```yaml
/// the answer:
///   cmd.call:
///     - func: test.echo
///     - args: [fine]
/// ```
///
/// A map with `result`, `comment` and `changes` is the result itself. Whatever else it is goes to
/// `changes` as `retval`, and false or empty means failure.
#[state("cmd.call", watches, required("func"))]
pub struct CallFunction(CallStateArguments);

/// As `cmd.call`, if something that it watches has changed.
///
/// ```yaml
/// the answer:
///   cmd.wait_call:
///     - func: test.echo
///     - args: [fine]
///     - watch:
///       - file: /etc/motd
/// ```
#[state("cmd.wait_call", watches, required("func"))]
pub struct WaitCall(CallStateArguments);

#[arguments]
#[allow(dead_code, reason = "some are only taken because Salt's users give them")]
struct CallStateArguments {
    /// The function's name.
    #[default]
    func: String,
    /// Its arguments by position.
    args: Vec<Value>,
    /// Its arguments by name.
    kws: Option<Map>,
    /// Accepted and ignored.
    kwargs: Map,
}

impl State for CallFunction {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.0.plan())
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(machine)
    }
}

impl State for WaitCall {
    fn plan(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(waiting())
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        self.0.apply(machine)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(self.0.plan())
    }
}

impl CallStateArguments {
    fn plan(&self) -> Decision {
        Decision::Change(Plan::default(), Verdict::would(format!("Function \"{}\" would have been called", self.func)))
    }

    fn apply(&self, machine: &dyn System) -> Result<Verdict> {
        let call = Call {
            args: self.args.clone(),
            kwargs: self.kws.clone().unwrap_or_default(),
            ..Call::new(self.func.as_str())
        };
        let answer = crate::catalog::call(call, machine);
        if let Some(problem) = answer.problem {
            return Err(problem.into());
        }
        let verdict = match answer.value {
            Value::Map(said) => Verdict {
                result: match said.get("result") {
                    Some(Value::Null) => None,
                    Some(result) => Some(result.truth()),
                    None => Some(false),
                },
                comment: said.get("comment").map(ToString::to_string).unwrap_or_default(),
                changes: said.get("changes").and_then(Value::as_map).cloned().unwrap_or_default(),
                ..Verdict::default()
            },
            value => Verdict {
                result: Some(value.is_null() || value.truth()),
                comment: value.as_str().unwrap_or_default().to_owned(),
                ..Verdict::default()
            }
            .output("retval", value.clone())
            .change("retval", value),
        };
        Ok(verdict)
    }
}
