//! What a request says of its targets and how to go over them.

use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::Entry;
use rocksalt_core::target::Kind;

use super::Error;
use crate::select::Target;

pub fn target(run: &RunRequest) -> Result<Target, Error> {
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

/// Some of them, others each time, in the order in which they were.
pub fn subset(entries: Vec<Entry>, count: usize) -> Vec<Entry> {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_cached_key(|place| random.hash_one(place));
    let taken: std::collections::HashSet<usize> = order.into_iter().take(count).collect();
    let mut place = 0..;
    entries.into_iter().filter(|_| place.next().is_some_and(|place| taken.contains(&place))).collect()
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
