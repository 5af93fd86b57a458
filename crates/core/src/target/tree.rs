//! [`Tree`]: conditions joined by `and`, `or` and `not`.

use std::fmt;

use super::{Condition, Subject};

#[derive(Clone, Debug)]
pub(super) enum Tree {
    Condition(Condition),
    Not(Box<Tree>),
    /// At least two.
    All(Vec<Tree>),
    /// At least two.
    Any(Vec<Tree>),
    /// What could not be read, where that is forgiven.
    Never,
}

impl Tree {
    pub fn all(mut parts: Vec<Tree>) -> Tree {
        if parts.len() == 1 { parts.remove(0) } else { Tree::All(parts) }
    }

    pub fn any(mut parts: Vec<Tree>) -> Tree {
        if parts.len() == 1 { parts.remove(0) } else { Tree::Any(parts) }
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        match self {
            Tree::Condition(condition) => condition.matches(subject),
            Tree::Not(inner) => !inner.matches(subject),
            Tree::All(parts) => parts.iter().all(|part| part.matches(subject)),
            Tree::Any(parts) => parts.iter().any(|part| part.matches(subject)),
            Tree::Never => false,
        }
    }

    pub fn has(&self, wanted: &dyn Fn(&Condition) -> bool) -> bool {
        match self {
            Tree::Condition(condition) => wanted(condition),
            Tree::Not(inner) => inner.has(wanted),
            Tree::All(parts) | Tree::Any(parts) => parts.iter().any(|part| part.has(wanted)),
            Tree::Never => false,
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Condition(condition) => condition.fmt(f),
            Tree::Not(inner) => write!(f, "not {}", Inside(inner)),
            Tree::All(parts) => join(parts, " and ", f),
            Tree::Any(parts) => join(parts, " or ", f),
            Tree::Never => f.write_str("not *"),
        }
    }
}

/// A part of something larger, in parentheses where it needs them.
struct Inside<'a>(&'a Tree);

impl fmt::Display for Inside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Tree::All(_) | Tree::Any(_) | Tree::Never => write!(f, "( {} )", self.0),
            plain => plain.fmt(f),
        }
    }
}

fn join(parts: &[Tree], operator: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        write!(f, "{}{}", if index == 0 { "" } else { operator }, Inside(part))?;
    }
    Ok(())
}
