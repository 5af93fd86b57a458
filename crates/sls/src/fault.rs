//! [`Fault`]: something wrong in a state file, with its place and the way out.

use std::fmt;
use std::sync::Arc;

use rocksalt_core::nearest::nearest;

/// One error of a stage. A stage gives all of its errors at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The text that Salt gives, letter by letter where users search for it.
    pub text: String,
    pub place: Option<Place>,
    /// The line of the file with a caret below, ready to be shown.
    pub excerpt: Option<String>,
    /// What is probably meant, or what to do.
    pub hint: Option<String>,
}

/// A place in a file as it was written, before templating. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `salt://web/init.sls`, without an environment.
    pub file: Arc<str>,
    pub line: u32,
    /// Unknown where a template made the line.
    pub column: Option<u32>,
}

impl Fault {
    pub fn new(text: impl Into<String>) -> Fault {
        Fault { text: text.into(), ..Fault::default() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// Adds "did you mean" if one of the candidates is near.
    pub fn nearest<'a>(self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Fault {
        match nearest(word, candidates) {
            Some(right) => {
                let hint = format!("did you mean '{right}'?");
                self.hint(hint)
            }
            None => self,
        }
    }

    /// The text with everything that helps: place, excerpt and hint.
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
