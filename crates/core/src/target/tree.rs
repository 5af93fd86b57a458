//! [`ConditionTree`]: conditions joined by `and`, `or` and `not`.

use std::fmt;

use super::{Subject, TargetCondition};

#[derive(Clone, Debug)]
pub(super) enum ConditionTree {
    Condition(TargetCondition),
    Not(Box<ConditionTree>),
    /// At least two.
    All(Vec<ConditionTree>),
    /// At least two.
    Any(Vec<ConditionTree>),
    /// A malformed target, where that isn't an error.
    Never,
}

impl ConditionTree {
    pub fn all(mut parts: Vec<ConditionTree>) -> ConditionTree {
        if parts.len() == 1 { parts.remove(0) } else { ConditionTree::All(parts) }
    }

    pub fn any(mut parts: Vec<ConditionTree>) -> ConditionTree {
        if parts.len() == 1 { parts.remove(0) } else { ConditionTree::Any(parts) }
    }

    pub fn matches(&self, subject: &dyn Subject) -> bool {
        match self {
            ConditionTree::Condition(condition) => condition.matches(subject),
            ConditionTree::Not(inner) => !inner.matches(subject),
            ConditionTree::All(parts) => parts.iter().all(|part| part.matches(subject)),
            ConditionTree::Any(parts) => parts.iter().any(|part| part.matches(subject)),
            ConditionTree::Never => false,
        }
    }

    pub fn has(&self, wanted: &dyn Fn(&TargetCondition) -> bool) -> bool {
        match self {
            ConditionTree::Condition(condition) => wanted(condition),
            ConditionTree::Not(inner) => inner.has(wanted),
            ConditionTree::All(parts) | ConditionTree::Any(parts) => parts.iter().any(|part| part.has(wanted)),
            ConditionTree::Never => false,
        }
    }
}

impl fmt::Display for ConditionTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionTree::Condition(condition) => condition.fmt(f),
            ConditionTree::Not(inner) => write!(f, "not {}", Parenthesized(inner)),
            ConditionTree::All(parts) => join(parts, " and ", f),
            ConditionTree::Any(parts) => join(parts, " or ", f),
            ConditionTree::Never => f.write_str("not *"),
        }
    }
}

/// Prints a subtree, in parentheses if needed.
struct Parenthesized<'a>(&'a ConditionTree);

impl fmt::Display for Parenthesized<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ConditionTree::All(_) | ConditionTree::Any(_) | ConditionTree::Never => write!(f, "( {} )", self.0),
            plain => plain.fmt(f),
        }
    }
}

fn join(parts: &[ConditionTree], operator: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        write!(f, "{}{}", if index == 0 { "" } else { operator }, Parenthesized(part))?;
    }
    Ok(())
}
