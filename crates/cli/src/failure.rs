//! [`Failure`]: why a command failed, as the user reads it.

use std::process::ExitCode;

/// The kind of a failure, which determines the exit code; scripts may rely on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An error in the command line, the configuration or the roster; nothing was sent.
    Usage,
    /// A function failed on some target.
    Function,
    /// Some target was not reached.
    Unreached,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl FailureKind {
    pub fn code(self) -> u8 {
        match self {
            FailureKind::Usage => 1,
            FailureKind::Function => 2,
            FailureKind::Unreached => 3,
            FailureKind::Interrupted => 130,
        }
    }
}

#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// Empty if everything was printed already.
    pub text: String,
    pub hints: Vec<String>,
}

impl Failure {
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure { kind: FailureKind::Usage, text: text.into(), hints: Vec::new() }
    }

    /// A usage failure with the whole chain of causes.
    pub fn caused(error: &dyn std::error::Error) -> Failure {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Failure::usage(text)
    }

    /// A failure whose message was printed already: only the exit code is left.
    pub fn silent(kind: FailureKind) -> Failure {
        Failure { kind, text: String::new(), hints: Vec::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    pub fn report(&self) -> ExitCode {
        if !self.text.is_empty() {
            eprintln!("error: {}", self.text);
        }
        for hint in &self.hints {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(self.kind.code())
    }
}

impl From<rocksalt_core::link::LinkFailure> for Failure {
    fn from(failure: rocksalt_core::link::LinkFailure) -> Failure {
        let hints = failure.hint.into_iter().collect();
        Failure { kind: FailureKind::Unreached, text: failure.text, hints }
    }
}

impl From<rocksalt_core::Problem> for Failure {
    fn from(problem: rocksalt_core::Problem) -> Failure {
        let hints = problem.hint.into_iter().collect();
        Failure { kind: FailureKind::Usage, text: problem.text, hints }
    }
}
