//! [`Range`]: which keys are asked for, and [`Listing`], the answer.

use super::{Pair, Revision};

/// The keys from `from` (with it) up to `to` (without it).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub from: String,
    pub to: String,
    /// At most so many; all without it.
    pub limit: Option<usize>,
    /// The last ones first.
    pub backwards: bool,
    /// Leave the values out.
    pub keys_only: bool,
}

impl Range {
    /// All keys that begin so.
    pub fn prefix(prefix: &str) -> Range {
        Range { from: prefix.to_owned(), to: after(prefix), ..Range::default() }
    }

    #[must_use]
    pub fn limit(mut self, limit: usize) -> Range {
        self.limit = Some(limit);
        self
    }

    #[must_use]
    pub fn backwards(mut self) -> Range {
        self.backwards = true;
        self
    }

    #[must_use]
    pub fn keys_only(mut self) -> Range {
        self.keys_only = true;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

/// The first key behind all that begin with a prefix. Keys are ASCII, so the last byte can grow.
pub(super) fn after(prefix: &str) -> String {
    let mut bytes = prefix.as_bytes().to_vec();
    match bytes.pop() {
        Some(last) if last < 0x7f => bytes.push(last + 1),
        // Nothing comes behind DEL, and nobody names a key so; of no prefix at all everything is behind.
        _ => bytes = vec![0x7f],
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub pairs: Vec<Pair>,
    /// More than `limit` are there.
    pub more: bool,
    /// As of which revision: watch from here.
    pub revision: Revision,
}
