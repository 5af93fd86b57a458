//! [`Call`] and [`Return`]: a request to a target, and its answer.

use minicbor::{Decode, Encode};

use crate::job_id::JobId;
use crate::log::LogLevel;
use crate::value::{Map, Value};

/// A function and its arguments, as the user gave them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Call {
    #[n(0)]
    pub function: String,
    #[n(1)]
    pub args: Vec<Value>,
    #[n(2)]
    pub kwargs: Map,
    /// The call's job, for `saltutil.running` and for cancelling.
    #[n(3)]
    pub job: Option<JobId>,
    /// Send the output of commands while they run, besides the result.
    #[n(4)]
    pub stream: bool,
    /// The id under which the caller knows the target; two ids may share one link.
    #[n(5)]
    pub target: String,
    /// The target's configuration (Salt's `minion_opts`).
    #[n(6)]
    pub options: Map,
    /// Use these grains instead of gathering the machine's.
    #[n(7)]
    pub grains: Option<Map>,
    /// Report the progress of a run of states.
    #[n(8)]
    pub progress: bool,
    /// The target records the start, continues if the controller disappears, and keeps the result until the controller
    /// confirms that it is stored (decision 0020).
    #[cbor(n(9), default)]
    pub keep: bool,
    /// Send diagnostic lines, up to this level.
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

/// The function that compiles pillar. The controller calls it only on its own machine.
pub const COMPILE_PILLAR: &str = "pillar.compile";

/// The function that waits for a step of a run and returns its outputs. The controller calls it for other targets of
/// the same job, if the peer rules allow that.
pub const STEP_OUTPUTS: &str = "state.outputs";

/// The function that resumes a run after a restart of the machine. Only the controller calls it.
pub const RESUME: &str = "state.resume";

/// The function that returns what a target has kept of a job (its only argument), for a controller that was away: a map
/// with `state` (`done`, `running`, `died`, `unknown`), and `result` ([`Return::to_bytes`]) or `pid`. With `signal` (15
/// or 9), a running call is stopped. Only the controller calls it.
pub const KEPT: &str = "job.kept";

/// A target's answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Return {
    /// The result; for a failed call, the text that Salt shows.
    #[n(0)]
    pub value: Value,
    /// 0, or an error code of the function, such as a command's exit code.
    #[n(1)]
    pub retcode: i32,
    /// Set if the function failed.
    #[n(2)]
    pub problem: Option<Problem>,
}

impl Return {
    pub fn success(&self) -> bool {
        self.problem.is_none() && self.retcode == 0
    }

    /// Encodes it for files.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Writing into memory can't fail.
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// Decodes the bytes of [`Return::to_bytes`]; `None` if they are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Return> {
        minicbor::decode(bytes).ok()
    }
}

/// Why a call failed: a kind for programs, and a text and a hint for users.
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

/// Why the arguments don't fit, for templates and states, which report it in Salt's words.
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
    /// The function ran and failed.
    #[n(2)]
    Failed,
    /// The call was cancelled.
    #[n(3)]
    Cancelled,
    /// The call took longer than allowed.
    #[n(4)]
    TimedOut,
    /// The caller isn't permitted to make the request.
    #[n(5)]
    Refused,
    /// The machine restarts during a run of states, which [`RESUME`] continues. The value is a map: `wait`, the seconds
    /// that the restart may take, and `journal`, the sha256 of the data that the run left.
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
        // Salt returns a failure's text as the result, with return code 1.
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
