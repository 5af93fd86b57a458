//! [`Pcre`]: a regular expression for ids and data, matched from the start.

use super::Error;
use crate::pattern::{Flags, Pattern};

#[derive(Clone, Debug)]
pub struct Pcre(Pattern);

impl Pcre {
    pub fn new(pattern: &str) -> Result<Pcre, Error> {
        Ok(Pcre(Pattern::at_start(pattern, Flags::NONE)?))
    }

    /// Compiles a pattern for grains and pillar, which ignores case.
    pub fn ignoring_case(pattern: &str) -> Result<Pcre, Error> {
        Ok(Pcre(Pattern::at_start(pattern, Flags::IGNORE_CASE)?))
    }

    /// Whether the pattern matches. A match that takes too many steps counts as none.
    pub fn matches(&self, text: &str) -> bool {
        self.0.matches(text).unwrap_or(false)
    }
}
