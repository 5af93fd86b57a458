//! Selects the steps of some ids, with everything that they require.

use std::collections::{BTreeSet, HashMap};

use rocksalt_modules::{Error, Result};
use rocksalt_sls::Low;

/// Keeps the steps with these ids and what they require, and removes all others.
pub fn select_ids(mut low: Low, ids: &[&str]) -> Result<Low> {
    let known: Vec<&str> = low.chunks.iter().map(|chunk| chunk.id.as_str()).collect();
    if let Some(unknown) = ids.iter().find(|id| !known.contains(*id)) {
        let near = rocksalt_core::nearest::hint(unknown, known);
        // Salt's wording.
        return Err(Error::failed(format!("No matches for ID '{unknown}' found in SLS{near}")));
    }
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut open: Vec<usize> =
        (0..low.steps.len()).filter(|step| ids.contains(&known[low.steps[*step].chunk])).collect();
    while let Some(step) = open.pop() {
        if wanted.insert(step) {
            open.extend(low.steps[step].needs.iter().map(|need| need.step));
        }
    }
    let places: HashMap<usize, usize> = wanted.iter().copied().zip(0..).collect();
    let mut steps = Vec::with_capacity(wanted.len());
    for number in &wanted {
        let mut step = low.steps[*number].clone();
        for need in &mut step.needs {
            need.step = places[&need.step];
        }
        steps.push(step);
    }
    low.steps = steps;
    low.aggregates.clear();
    Ok(low)
}
