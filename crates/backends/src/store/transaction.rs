//! [`Transaction`]: what is done together, and under which conditions.

use std::collections::HashSet;

use super::{Error, Lease, LeaseId, Revision};

/// The longest key.
const LONGEST_KEY: usize = 2048;

/// What is done together, if all conditions hold. Of two changes of one key the later counts.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub conditions: Vec<Condition>,
    pub changes: Vec<Operation>,
}

impl Transaction {
    #[must_use]
    pub fn put(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Transaction {
        self.changes.push(Operation::Put { key: key.into(), value: value.into(), lease: None });
        self
    }

    #[must_use]
    pub fn put_under(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>, lease: &Lease) -> Transaction {
        self.changes.push(Operation::Put { key: key.into(), value: value.into(), lease: Some(lease.id) });
        self
    }

    #[must_use]
    pub fn delete(mut self, key: impl Into<String>) -> Transaction {
        self.changes.push(Operation::Delete { key: key.into() });
        self
    }

    /// Only if the key isn't there.
    #[must_use]
    pub fn if_absent(mut self, key: impl Into<String>) -> Transaction {
        self.conditions.push(Condition::Absent { key: key.into() });
        self
    }

    /// Only if the key was last written by this commit.
    #[must_use]
    pub fn if_at(mut self, key: impl Into<String>, revision: Revision) -> Transaction {
        self.conditions.push(Condition::At { key: key.into(), revision });
        self
    }

    /// Checked against what a store takes, with one change for each key.
    pub(super) fn settled(mut self, limits: Limits) -> Result<Transaction, Error> {
        let conditions = self.conditions.iter().map(Condition::key);
        conditions.chain(self.changes.iter().map(Operation::key)).try_for_each(check_key)?;
        // etcd refuses a key that is written twice; so that all are alike, the last one counts everywhere.
        let mut seen = HashSet::new();
        let mut keep: Vec<bool> = self.changes.iter().rev().map(|change| seen.insert(change.key())).collect();
        keep.reverse();
        let mut keep = keep.into_iter();
        self.changes.retain(|_| keep.next().unwrap_or(true));
        let count = self.changes.len().max(self.conditions.len());
        if count > limits.operations {
            let what = format!("{count} changes or conditions in one transaction, of at most {}", limits.operations);
            return Err(Error::TooLarge { what });
        }
        let size = self.size();
        if size > limits.bytes {
            let what = format!("{size} bytes in one transaction, of at most {}", limits.bytes);
            return Err(Error::TooLarge { what });
        }
        Ok(self)
    }

    /// Roughly how many bytes it has.
    pub(super) fn size(&self) -> usize {
        let conditions = self.conditions.iter().map(|condition| condition.key().len() + 24);
        conditions.chain(self.changes.iter().map(Operation::size)).sum()
    }

    /// Whether all conditions hold, by a look at the last commit of each key.
    pub(super) fn holds<E>(&self, mut at: impl FnMut(&str) -> Result<Option<Revision>, E>) -> Result<bool, E> {
        for condition in &self.conditions {
            let holds = match condition {
                Condition::Absent { key } => at(key)?.is_none(),
                Condition::At { key, revision } => at(key)? == Some(*revision),
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
    } else if key.len() > LONGEST_KEY {
        format!("it has more than {LONGEST_KEY} bytes")
    } else if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        "it isn't printable ASCII".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Key { key: key.chars().take(80).collect::<String>().escape_default().to_string(), why })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Absent { key: String },
    At { key: String, revision: Revision },
}

impl Condition {
    pub(super) fn key(&self) -> &str {
        match self {
            Condition::Absent { key } | Condition::At { key, .. } => key,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Put { key: String, value: Vec<u8>, lease: Option<LeaseId> },
    Delete { key: String },
}

impl Operation {
    pub(super) fn key(&self) -> &str {
        match self {
            Operation::Put { key, .. } | Operation::Delete { key } => key,
        }
    }

    fn size(&self) -> usize {
        match self {
            Operation::Put { key, value, .. } => key.len() + value.len() + 24,
            Operation::Delete { key } => key.len() + 8,
        }
    }
}

/// How a transaction went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Done(Revision),
    /// A condition did not hold, and nothing was done.
    Conflict,
}

/// How much a store takes in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Changes, and as many conditions.
    pub operations: usize,
    /// Keys and values together.
    pub bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { operations: 3, bytes: 1000 };

    #[test]
    fn the_last_change_of_a_key_counts() {
        let transaction = Transaction::default().put("a", "1").delete("b").put("a", "2").settled(LIMITS);
        let expected = Transaction::default().delete("b").put("a", "2");
        assert_eq!(transaction.expect("fits").changes, expected.changes);
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let many = (0..4).fold(Transaction::default(), |all, key| all.delete(key.to_string()));
        assert!(matches!(many.settled(LIMITS), Err(Error::TooLarge { .. })));
        let large = Transaction::default().put("a", vec![0; 1000]);
        assert!(matches!(large.settled(LIMITS), Err(Error::TooLarge { .. })));
        for key in ["", "\n", "ä", "\u{7f}", &"x".repeat(3000)] {
            let refused = Transaction::default().if_absent(key).settled(LIMITS);
            assert!(matches!(refused, Err(Error::Key { .. })), "{key:?}");
        }
    }
}
