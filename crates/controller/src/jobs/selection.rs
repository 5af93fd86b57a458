//! [`SelectedTargets`]: the targets that a request selects, after the subset is taken.

use std::collections::BTreeSet;

use rocksalt_core::link::{LinkFailure, Stage};
use rocksalt_core::request::RunRequest;
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::target::TargetKind;

use super::Error;
use crate::Controller;
use crate::select::TargetSelector;

pub struct SelectedTargets {
    pub target: TargetSelector,
    pub entries: Vec<RosterEntry>,
    /// Targets that may be selected, but whose grains could not be read.
    pub unknown: Vec<(RosterEntry, LinkFailure)>,
    /// Ids in the request that the roster does not have.
    pub missing: Vec<String>,
}

impl SelectedTargets {
    /// Whether there is no target to send the call to.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.unknown.is_empty()
    }
}

/// Selects the targets of a request. With `allowed` it fails if the request selects any other target.
pub async fn select_targets(
    controller: &Controller,
    request: &RunRequest,
    allowed: Option<&BTreeSet<String>>,
) -> Result<SelectedTargets, Error> {
    request.options.check()?;
    let target = target(request)?;
    let selection = controller.select(&target).await?;
    let (mut entries, mut unknown) = (selection.entries, selection.unknown);
    if let Some(allowed) = allowed {
        let beyond = entries.iter().map(|entry| &entry.id).filter(|id| !allowed.contains(*id));
        let beyond: Vec<String> = beyond.cloned().collect();
        if !beyond.is_empty() {
            return Err(Error::Beyond(beyond));
        }
        unknown.retain(|(entry, _)| allowed.contains(&entry.id));
    }
    if let Some(count) = request.options.subset {
        entries = random_subset(entries, count);
    }
    let missing = match target.kind {
        TargetKind::List => {
            ids(&target.text).filter(|id| controller.roster.get(id).is_none()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let unknown = unknown.into_iter().map(|(entry, failure)| (entry, grains_unknown(failure))).collect();
    Ok(SelectedTargets { target, entries, unknown, missing })
}

/// The target expression of a request.
pub fn target(request: &RunRequest) -> Result<TargetSelector, Error> {
    let kind = match request.target_kind.as_str() {
        "" => TargetKind::Glob,
        name => TargetKind::from_name(name)?,
    };
    let delimiter = request.delimiter.clone().unwrap_or_else(|| ":".into());
    Ok(TargetSelector { kind, text: request.target.clone(), delimiter })
}

/// The ids in a list of targets.
fn ids(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|id| !id.is_empty())
}

/// Picks `count` items at random, and keeps their order.
fn random_subset<T>(items: Vec<T>, count: usize) -> Vec<T> {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_cached_key(|index| random.hash_one(index));
    let chosen: std::collections::HashSet<usize> = order.into_iter().take(count).collect();
    items.into_iter().enumerate().filter(|(index, _)| chosen.contains(index)).map(|(_, item)| item).collect()
}

/// The failure of a target whose grains could not be read, so that nobody knows whether it is selected.
fn grains_unknown(failure: LinkFailure) -> LinkFailure {
    // Nothing was started there, so the target need not be asked for a result.
    let stage = if failure.stage == Stage::Link { Stage::Agent } else { failure.stage };
    LinkFailure { stage, text: format!("its grains are not known, and it can't be asked: {}", failure.text), ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_keeps_the_order() {
        let subset = random_subset((0..100).collect(), 10);
        assert_eq!(subset.len(), 10);
        assert!(subset.is_sorted());
        assert_eq!(random_subset(vec!["a"], 5), ["a"]);
    }
}
