//! [`Words`]: a name in a rule: the name itself, a shell pattern, or a regular expression for the whole of it.

use rocksalt_core::pattern::glob::{Glob, is_pattern};
use rocksalt_core::pattern::{Flags, Pattern};

/// Nobody writes a longer pattern by hand.
const LONGEST: usize = 4096;

#[derive(Clone, Debug)]
pub struct Words {
    pub text: String,
    glob: Option<Glob>,
    pattern: Option<Pattern>,
}

/// How a name fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Exact,
    Glob,
    Regex,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Exact => "by its name",
            Way::Glob => "as a shell pattern",
            Way::Regex => "as a regular expression",
        }
    }
}

impl Words {
    /// A text that is no regular expression is a shell pattern, or nothing at all.
    pub fn parse(text: &str) -> Result<Words, String> {
        if text.is_empty() {
            return Err("an empty name fits nothing".into());
        }
        if text.len() > LONGEST {
            return Err(format!("a pattern of {} bytes: {LONGEST} are allowed", text.len()));
        }
        let glob = is_pattern(text).then(|| Glob::new(text));
        let pattern = match Pattern::whole(text, Flags::NONE) {
            Ok(pattern) => Some(pattern),
            Err(_) if glob.is_some() => None,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Words { text: text.to_owned(), glob, pattern })
    }

    /// Always the whole of it: what only begins so does not fit. A match that takes too long is none.
    pub fn fits(&self, name: &str) -> Option<Way> {
        if self.text == name {
            return Some(Way::Exact);
        }
        if self.glob.as_ref().is_some_and(|glob| glob.matches(name)) {
            return Some(Way::Glob);
        }
        let fits = self.pattern.as_ref().is_some_and(|pattern| pattern.matches(name).unwrap_or(false));
        fits.then_some(Way::Regex)
    }

    /// Whether a name only begins so. Salt lets it through; the one who reads an explanation is told.
    pub fn begins(&self, name: &str) -> bool {
        let start = Pattern::at_start(&self.text, Flags::NONE);
        self.fits(name).is_none() && start.is_ok_and(|pattern| pattern.matches(name).unwrap_or(false))
    }

    /// Whether it means anything at all.
    pub fn any(&self) -> bool {
        matches!(self.text.as_str(), ".*" | "*")
    }
}
