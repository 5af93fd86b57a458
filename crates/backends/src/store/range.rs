//! [`KeyRange`]: selects keys; [`RangeResult`]: the result.

use super::{Pair, Revision};

/// The keys from `from` (inclusive) to `to` (exclusive).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub from: String,
    pub to: String,
    /// The most keys to return; all by default.
    pub limit: Option<usize>,
    /// In descending order.
    pub descending: bool,
    /// Without values.
    pub keys_only: bool,
}

impl KeyRange {
    /// All keys with a prefix.
    pub fn prefix(prefix: &str) -> KeyRange {
        KeyRange { from: prefix.to_owned(), to: after(prefix), ..KeyRange::default() }
    }

    #[must_use]
    pub fn limit(mut self, limit: usize) -> KeyRange {
        self.limit = Some(limit);
        self
    }

    #[must_use]
    pub fn descending(mut self) -> KeyRange {
        self.descending = true;
        self
    }

    #[must_use]
    pub fn keys_only(mut self) -> KeyRange {
        self.keys_only = true;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

/// The first key after all keys with a prefix. Keys are ASCII, so the last byte can be incremented.
pub(super) fn after(prefix: &str) -> String {
    let mut bytes = prefix.as_bytes().to_vec();
    match bytes.pop() {
        Some(last) if last < 0x7f => bytes.push(last + 1),
        // No key contains DEL, so it is after all keys; also for the empty prefix.
        _ => bytes = vec![0x7f],
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeResult {
    pub pairs: Vec<Pair>,
    /// There are more keys than `limit`.
    pub more: bool,
    /// The revision of the listing, to watch from.
    pub revision: Revision,
}
