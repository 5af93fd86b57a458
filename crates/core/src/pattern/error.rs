//! Errors of patterns and of replacements.

/// An error of a pattern or a replacement. Nothing was matched or replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("'{pattern}' is not a regular expression{}: {reason}", at(*position))]
    Malformed { pattern: String, position: Option<usize>, reason: String },
    /// The text can't be changed, but another pattern may be faster.
    #[error("the regular expression takes too long on this text; make it simpler")]
    TooLong,
    #[error("'{template}' can't replace a match: {reason}")]
    Template { template: String, reason: String },
}

fn at(position: Option<usize>) -> String {
    position.map_or_else(String::new, |position| format!(" (at character {})", position + 1))
}
