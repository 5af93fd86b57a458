//! [`SlsFault`]: an error in a state file, with its location and a hint.

use std::fmt;
use std::sync::Arc;

use rocksalt_core::nearest::nearest;

/// An error of one stage. A stage returns all of its errors at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlsFault {
    /// The kind, for code that treats some faults differently.
    pub kind: SlsFaultKind,
    /// Salt's text, byte for byte, so that users find it in searches.
    pub text: String,
    pub place: Option<SourceLocation>,
    /// The line of the file with a caret below it.
    pub excerpt: Option<String>,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
}

/// Kinds of faults that callers distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlsFaultKind {
    #[default]
    Other,
    /// A selected sls has no file.
    MissingSls,
    /// The top file selects nothing for this machine.
    NoTopMatch,
}

/// A location in a file as it was written, before templating. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// `salt://web/init.sls`, without an environment.
    pub file: Arc<str>,
    pub line: u32,
    /// `None` if a template generated the line.
    pub column: Option<u32>,
}

impl SlsFault {
    pub fn new(text: impl Into<String>) -> SlsFault {
        SlsFault { text: text.into(), ..SlsFault::default() }
    }

    #[must_use]
    pub fn kind(mut self, kind: SlsFaultKind) -> SlsFault {
        self.kind = kind;
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> SlsFault {
        self.hint = Some(hint.into());
        self
    }

    /// Adds "did you mean" if one of the candidates is similar.
    pub fn nearest<'a>(self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> SlsFault {
        match nearest(word, candidates) {
            Some(right) => {
                let hint = format!("did you mean '{right}'?");
                self.hint(hint)
            }
            None => self,
        }
    }

    /// The text with the location, the excerpt and the hint.
    pub fn report(&self) -> String {
        let mut report = self.text.clone();
        if let Some(place) = &self.place {
            report += &format!("\n  --> {place}");
        }
        if let Some(excerpt) = &self.excerpt {
            report += &format!("\n{excerpt}");
        }
        if let Some(hint) = &self.hint {
            report += &format!("\n  hint: {hint}");
        }
        report
    }
}

impl fmt::Display for SlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SlsFault {}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
