//! Merges steps that one package transaction can do, and splits the result again.

use rocksalt_core::Map;
use rocksalt_modules::catalog::{self, Verdict};
use rocksalt_sls::Chunk;

use super::arguments;
use super::call_state::CallOptions;
use super::runner::StepRunner;

/// How many of the first chunks can be merged.
pub fn longest_mergeable(chunks: &[&Chunk]) -> usize {
    let Some(join) = chunks.first().and_then(|chunk| catalog::find_state(&chunk.function())?.join) else { return 1 };
    let all = arguments_of(chunks);
    let all: Vec<&Map> = all.iter().collect();
    (2..=all.len()).rev().find(|count| (join.join)(&all[..*count]).is_some()).unwrap_or(1)
}

/// Merges the steps into one call of the state, and returns a verdict for each. `None` if the call failed: then each
/// step must run alone.
pub fn call(runner: &StepRunner<'_>, chunks: &[&Chunk], test: bool) -> Option<Vec<Verdict>> {
    let first = chunks.first()?;
    let entry = catalog::find_state(&first.function())?;
    let join = entry.join?;
    let all = arguments_of(chunks);
    let options = CallOptions { test, watched: None, merged_arguments: &all[1..], counted: false };
    let whole = runner.call_state(first, options);
    if whole.result == Some(false) || (whole.result.is_none() && !test) {
        return None;
    }
    Some(all.iter().map(|own| (join.part)(own, &whole, test)).collect())
}

/// The state's own arguments of each chunk.
pub fn arguments_of(chunks: &[&Chunk]) -> Vec<Map> {
    let own = |chunk: &&Chunk| Some(arguments::state_arguments(chunk, catalog::find_state(&chunk.function())?));
    chunks.iter().filter_map(own).collect()
}
