//! What a request says of its targets and how to go over them.

use rocksalt_core::request::Run;
use rocksalt_core::roster::Entry;
use rocksalt_core::target::Kind;

use super::Error;
use crate::select::Target;

pub fn target(run: &Run) -> Result<Target, Error> {
    let kind = match run.target_kind.as_str() {
        "" => Kind::Glob,
        name => Kind::from_name(name)?,
    };
    let delimiter = run.delimiter.clone().unwrap_or_else(|| ":".into());
    Ok(Target { kind, text: run.target.clone(), delimiter })
}

/// The names in a list of targets.
pub fn names(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// `10` or `25%` of so many; at least one.
pub fn batch(text: &str, targets: usize) -> Result<usize, Error> {
    let fault = || Error::Batch(text.to_owned());
    let count = match text.trim().strip_suffix('%') {
        Some(part) => {
            let part: usize = part.trim().parse().map_err(|_| fault())?;
            targets * part.min(100) / 100
        }
        None => text.trim().parse().map_err(|_| fault())?,
    };
    Ok(count.max(1))
}

/// Some of them, others each time.
pub fn subset(mut entries: Vec<Entry>, count: usize) -> Vec<Entry> {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    entries.sort_by_cached_key(|entry| random.hash_one(&entry.id));
    entries.truncate(count);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_number_or_a_share() {
        for (text, count) in [("10", 10), ("25%", 2), ("0", 1), ("1%", 1), (" 50 % ", 5), ("900%", 10)] {
            assert_eq!(batch(text, 10).expect(text), count, "{text}");
        }
        for text in ["", "x", "-1", "10%%", "1.5"] {
            assert!(batch(text, 10).is_err(), "{text}");
        }
    }
}
