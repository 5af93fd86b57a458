//! [`Transaction`]: operations that are committed together, under conditions.

use std::collections::HashSet;

use super::{Error, Lease, LeaseId, Revision};

/// The longest key.
const MAX_KEY_LENGTH: usize = 2048;

/// Operations that are committed together if all conditions hold. The last operation on a key wins.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub conditions: Vec<Precondition>,
    pub operations: Vec<TransactionOp>,
}

impl Transaction {
    #[must_use]
    pub fn put(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Transaction {
        self.operations.push(TransactionOp::Put { key: key.into(), value: value.into(), lease: None });
        self
    }

    #[must_use]
    pub fn put_with_lease(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>, lease: &Lease) -> Transaction {
        self.operations.push(TransactionOp::Put { key: key.into(), value: value.into(), lease: Some(lease.id) });
        self
    }

    #[must_use]
    pub fn delete(mut self, key: impl Into<String>) -> Transaction {
        self.operations.push(TransactionOp::Delete { key: key.into() });
        self
    }

    /// Only if the key doesn't exist.
    #[must_use]
    pub fn if_absent(mut self, key: impl Into<String>) -> Transaction {
        self.conditions.push(Precondition::Absent { key: key.into() });
        self
    }

    /// Only if the key was last written by the commit `revision`.
    #[must_use]
    pub fn if_revision(mut self, key: impl Into<String>, revision: Revision) -> Transaction {
        self.conditions.push(Precondition::At { key: key.into(), revision });
        self
    }

    /// Checks keys and limits, and keeps only the last operation on each key.
    pub(super) fn validated(mut self, limits: TransactionLimits) -> Result<Transaction, Error> {
        let conditions = self.conditions.iter().map(Precondition::key);
        conditions.chain(self.operations.iter().map(TransactionOp::key)).try_for_each(check_key)?;
        // etcd rejects a transaction that writes a key twice, so all stores keep the last write.
        let mut seen = HashSet::new();
        let mut keep: Vec<bool> = self.operations.iter().rev().map(|change| seen.insert(change.key())).collect();
        keep.reverse();
        let mut keep = keep.into_iter();
        self.operations.retain(|_| keep.next().unwrap_or(true));
        let count = self.operations.len().max(self.conditions.len());
        if count > limits.operations {
            let what = format!("{count} changes or conditions in one transaction; the limit is {}", limits.operations);
            return Err(Error::TooLarge { what });
        }
        let size = self.size();
        if size > limits.bytes {
            let what = format!("{size} bytes in one transaction; the limit is {}", limits.bytes);
            return Err(Error::TooLarge { what });
        }
        Ok(self)
    }

    /// Approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        let conditions = self.conditions.iter().map(|condition| condition.key().len() + 24);
        conditions.chain(self.operations.iter().map(TransactionOp::size)).sum()
    }

    /// Whether all conditions hold, given each key's last revision.
    pub(super) fn conditions_hold<E>(
        &self,
        mut at: impl FnMut(&str) -> Result<Option<Revision>, E>,
    ) -> Result<bool, E> {
        for condition in &self.conditions {
            let holds = match condition {
                Precondition::Absent { key } => at(key)?.is_none(),
                Precondition::At { key, revision } => at(key)? == Some(*revision),
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn check_key(key: &str) -> Result<(), Error> {
    let why = if key.is_empty() {
        "it is empty".to_owned()
    } else if key.len() > MAX_KEY_LENGTH {
        format!("it is longer than {MAX_KEY_LENGTH} bytes")
    } else if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        "it isn't printable ASCII".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Key { key: key.chars().take(80).collect::<String>().escape_default().to_string(), why })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    Absent { key: String },
    At { key: String, revision: Revision },
}

impl Precondition {
    pub(super) fn key(&self) -> &str {
        match self {
            Precondition::Absent { key } | Precondition::At { key, .. } => key,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionOp {
    Put { key: String, value: Vec<u8>, lease: Option<LeaseId> },
    Delete { key: String },
}

impl TransactionOp {
    pub(super) fn key(&self) -> &str {
        match self {
            TransactionOp::Put { key, .. } | TransactionOp::Delete { key } => key,
        }
    }

    fn size(&self) -> usize {
        match self {
            TransactionOp::Put { key, value, .. } => key.len() + value.len() + 24,
            TransactionOp::Delete { key } => key.len() + 8,
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Done(Revision),
    /// A condition did not hold; nothing was done.
    Conflict,
}

/// The limits of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLimits {
    /// The most operations, and the most conditions.
    pub operations: usize,
    /// The most bytes of keys and values.
    pub bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TransactionLimits = TransactionLimits { operations: 3, bytes: 1000 };

    #[test]
    fn the_last_change_of_a_key_counts() {
        let transaction = Transaction::default().put("a", "1").delete("b").put("a", "2").validated(LIMITS);
        let expected = Transaction::default().delete("b").put("a", "2");
        assert_eq!(transaction.expect("fits").operations, expected.operations);
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let many = (0..4).fold(Transaction::default(), |all, key| all.delete(key.to_string()));
        assert!(matches!(many.validated(LIMITS), Err(Error::TooLarge { .. })));
        let large = Transaction::default().put("a", vec![0; 1000]);
        assert!(matches!(large.validated(LIMITS), Err(Error::TooLarge { .. })));
        for key in ["", "\n", "ä", "\u{7f}", &"x".repeat(3000)] {
            let refused = Transaction::default().if_absent(key).validated(LIMITS);
            assert!(matches!(refused, Err(Error::Key { .. })), "{key:?}");
        }
    }
}
