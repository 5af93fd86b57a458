//! [`NamePattern`]: a name in a rule: the name itself, a glob, or a regular expression that must match all of it.

use rocksalt_core::pattern::glob::{Glob, is_pattern};
use rocksalt_core::pattern::{Flags, Pattern};

/// Guards against pathological patterns.
const MAX_LENGTH: usize = 4096;

#[derive(Clone, Debug)]
pub struct NamePattern {
    pub text: String,
    glob: Option<Glob>,
    pattern: Option<Pattern>,
}

/// How a name matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    Glob,
    Regex,
}

impl MatchKind {
    pub fn name(self) -> &'static str {
        match self {
            MatchKind::Exact => "exactly",
            MatchKind::Glob => "as a glob",
            MatchKind::Regex => "as a regular expression",
        }
    }
}

impl NamePattern {
    /// A text that isn't a regular expression must be a glob.
    pub fn parse(text: &str) -> Result<NamePattern, String> {
        if text.is_empty() {
            return Err("a name must not be empty".into());
        }
        if text.len() > MAX_LENGTH {
            return Err(format!("the pattern has {} bytes; the limit is {MAX_LENGTH}", text.len()));
        }
        let glob = is_pattern(text).then(|| Glob::new(text));
        let pattern = match Pattern::whole(text, Flags::NONE) {
            Ok(pattern) => Some(pattern),
            Err(_) if glob.is_some() => None,
            Err(error) => return Err(error.to_string()),
        };
        Ok(NamePattern { text: text.to_owned(), glob, pattern })
    }

    /// Matches the whole name, never only its beginning. A match that takes too long counts as none.
    pub fn matches(&self, name: &str) -> Option<MatchKind> {
        if self.text == name {
            return Some(MatchKind::Exact);
        }
        if self.glob.as_ref().is_some_and(|glob| glob.matches(name)) {
            return Some(MatchKind::Glob);
        }
        let matches = self.pattern.as_ref().is_some_and(|pattern| pattern.matches(name).unwrap_or(false));
        matches.then_some(MatchKind::Regex)
    }

    /// Whether only the beginning matches. Salt allows that, so explanations mention it.
    pub fn matches_prefix(&self, name: &str) -> bool {
        let start = Pattern::at_start(&self.text, Flags::NONE);
        self.matches(name).is_none() && start.is_ok_and(|pattern| pattern.matches(name).unwrap_or(false))
    }

    /// Whether it matches everything.
    pub fn is_wildcard(&self) -> bool {
        matches!(self.text.as_str(), ".*" | "*")
    }
}
