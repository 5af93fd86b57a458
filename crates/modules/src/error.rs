//! Why a function failed.

use std::io;
use std::path::Path;

use rocksalt_core::{Problem, call::ProblemKind, pattern};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A function's failure: the attempted operation, its object, and the reason.
///
/// Nothing is rolled back, so the text must also say what was already done.
#[derive(Debug)]
pub struct Error(Box<Problem>);

impl Error {
    /// The function ran and failed.
    pub fn failed(text: impl Into<String>) -> Error {
        Error(Box::new(Problem::new(ProblemKind::Failed, text)))
    }

    /// The arguments are invalid together; nothing was done.
    pub fn arguments(text: impl Into<String>) -> Error {
        Error(Box::new(Problem::new(ProblemKind::Arguments, text)))
    }

    pub fn cancelled() -> Error {
        Error(Box::new(Problem::new(ProblemKind::Cancelled, "cancelled")))
    }

    pub fn timed_out(text: impl Into<String>) -> Error {
        Error(Box::new(Problem::new(ProblemKind::TimedOut, text)))
    }

    /// An I/O failure. `doing` is a verb phrase: "read", "set the mode of".
    pub fn io(doing: &str, path: impl AsRef<Path>, error: &io::Error) -> Error {
        Error::failed(format!("could not {doing} {}: {}", path.as_ref().display(), reason(error)))
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Error {
        Error(Box::new(self.0.hint(hint)))
    }

    pub fn problem(self) -> Problem {
        *self.0
    }
}

/// The text of an I/O error, without Rust's "(os error 2)", which does not help a user.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error(Box::new(problem))
    }
}

impl From<pattern::Error> for Error {
    fn from(error: pattern::Error) -> Error {
        match error {
            pattern::Error::TooLong => Error::failed(error.to_string()),
            pattern::Error::Malformed { .. } | pattern::Error::Template { .. } => Error::arguments(error.to_string()),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl std::error::Error for Error {}
