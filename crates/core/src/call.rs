//! [`Call`] and [`Return`]: what is asked of a target, and what it answers.

use minicbor::{Decode, Encode};

use crate::job_id::JobId;
use crate::log::LogLevel;
use crate::value::{Map, Value};

/// A function with its arguments, as a user gave them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Call {
    #[n(0)]
    pub function: String,
    #[n(1)]
    pub args: Vec<Value>,
    #[n(2)]
    pub kwargs: Map,
    /// The job it belongs to, for `saltutil.running` and for cancelling.
    #[n(3)]
    pub job: Option<JobId>,
    /// Send the output of commands as it comes, besides the result.
    #[n(4)]
    pub stream: bool,
    /// Under which id the caller knows the target; two ids may share one link.
    #[n(5)]
    pub target: String,
    /// The target's configuration (Salt's `minion_opts`).
    #[n(6)]
    pub options: Map,
    /// Take these for the machine's grains, instead of gathering them.
    #[n(7)]
    pub grains: Option<Map>,
    /// Tell how far a run of states is.
    #[n(8)]
    pub progress: bool,
    /// The target notes that it began, goes on without the controller, and keeps the result until it hears that it is
    /// stored (decision 0020).
    #[cbor(n(9), default)]
    pub keep: bool,
    /// Send diagnostic lines up to this level.
    #[cbor(n(10), default)]
    pub log: Option<LogLevel>,
}

impl Call {
    pub fn new(function: impl Into<String>) -> Call {
        Call {
            function: function.into(),
            args: Vec::new(),
            kwargs: Map::new(),
            job: None,
            stream: false,
            target: String::new(),
            options: Map::new(),
            grains: None,
            progress: false,
            keep: false,
            log: None,
        }
    }

    #[must_use]
    pub fn arg(mut self, value: impl Into<Value>) -> Call {
        self.args.push(value.into());
        self
    }

    #[must_use]
    pub fn kwarg(mut self, name: &str, value: impl Into<Value>) -> Call {
        self.kwargs.insert(name, value);
        self
    }
}

/// The function that compiles pillar: the controller calls it on its own machine only.
pub const COMPILE_PILLAR: &str = "pillar.compile";

/// The function that waits for a step of a run and gives its outputs: the controller calls it for other
/// targets of the same job, where the peer rules allow it.
pub const STEP_OUTPUTS: &str = "state.outputs";

/// The function that goes on with a run after a restart of the machine in its middle: only the controller calls it.
pub const RESUME: &str = "state.resume";

/// The function that tells what a target has kept of a job (its only argument), for a controller that was gone
/// meanwhile: a map with `state` (`done`, `running`, `died`, `unknown`), and `result` ([`Return::to_bytes`]) or `pid`.
/// With `signal` (15 or 9) what still runs is stopped. Only the controller calls it.
pub const KEPT: &str = "job.kept";

/// What a target answered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Return {
    /// The result; for a failed call the text that Salt's users would see.
    #[n(0)]
    pub value: Value,
    /// 0, or what the function says went wrong (a command's own exit code, say).
    #[n(1)]
    pub retcode: i32,
    /// Set when the function could not do its work.
    #[n(2)]
    pub problem: Option<Problem>,
}

impl Return {
    pub fn success(&self) -> bool {
        self.problem.is_none() && self.retcode == 0
    }

    /// For files.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Writing into memory can't fail.
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// What [`Return::to_bytes`] wrote; `None` if it is anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Return> {
        minicbor::decode(bytes).ok()
    }
}

/// Why a call failed: a kind for programs, a text and a way out for people.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
    #[n(0)]
    pub kind: ProblemKind,
    #[n(1)]
    pub text: String,
    #[n(2)]
    pub hint: Option<String>,
    #[n(3)]
    pub misfit: Option<ArgumentMisfit>,
}

/// Why arguments don't fit a function, where templates and states report it in Salt's words instead of ours.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ArgumentMisfit {
    #[n(0)]
    Missing(#[n(0)] String),
    #[n(1)]
    TooMany {
        #[n(0)]
        most: u32,
        #[n(1)]
        given: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ProblemKind {
    /// There is no such function.
    #[n(0)]
    UnknownFunction,
    /// The arguments don't fit.
    #[n(1)]
    Arguments,
    /// It ran and failed.
    #[n(2)]
    Failed,
    /// Somebody cancelled it.
    #[n(3)]
    Cancelled,
    /// It took longer than allowed.
    #[n(4)]
    TimedOut,
    /// The caller may not ask this.
    #[n(5)]
    Refused,
    /// The machine restarts in the middle of a run of states, which is to be gone on with by [`RESUME`]. The value is a
    /// map: `wait`, the seconds that it may take, and `journal`, the sha256 of what the run left behind.
    #[n(6)]
    Rebooting,
}

impl Problem {
    pub fn new(kind: ProblemKind, text: impl Into<String>) -> Problem {
        Problem { kind, text: text.into(), hint: None, misfit: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn misfit(mut self, misfit: Option<ArgumentMisfit>) -> Problem {
        self.misfit = misfit;
        self
    }
}

impl From<Problem> for Return {
    fn from(problem: Problem) -> Return {
        // Salt prints a failure's text as the result, and gives 1 as the return code.
        Return { value: problem.text.clone().into(), retcode: 1, problem: Some(problem) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_the_same_after_a_file() {
        let result = Return { value: vec![Value::Int(1), "x".into()].into(), retcode: 3, problem: None };
        assert_eq!(Return::from_bytes(&result.to_bytes()), Some(result));
        assert_eq!(Return::from_bytes(b"nonsense"), None);
    }
}
