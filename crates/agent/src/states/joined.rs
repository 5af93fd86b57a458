//! Several steps done as one, and what of it is whose.

use rocksalt_core::Map;
use rocksalt_modules::catalog::{self, Verdict};
use rocksalt_sls::Chunk;

use super::arguments;
use super::attempt::{Calling, Manner};

/// How many of the first of them can be done as one.
pub fn longest(chunks: &[&Chunk]) -> usize {
    let Some(join) = chunks.first().and_then(|chunk| catalog::find_state(&chunk.function())?.join) else { return 1 };
    let all = own_of(chunks);
    let all: Vec<&Map> = all.iter().collect();
    (2..=all.len()).rev().find(|count| (join.join)(&all[..*count]).is_some()).unwrap_or(1)
}

/// The verdicts of states that are done as one, in their order; `None` if that did not work out,
/// so that each must run by itself.
pub fn call(calling: &Calling<'_>, chunks: &[&Chunk], test: bool) -> Option<Vec<Verdict>> {
    let first = chunks.first()?;
    let entry = catalog::find_state(&first.function())?;
    let join = entry.join?;
    let all = own_of(chunks);
    let with = &all[1..];
    let whole = calling.call(first, Manner { test, watched: None, with });
    if whole.result == Some(false) || (whole.result.is_none() && !test) {
        return None;
    }
    Some(all.iter().map(|own| (join.part)(own, &whole, test)).collect())
}

/// The own arguments of each.
pub fn own_of(chunks: &[&Chunk]) -> Vec<Map> {
    chunks.iter().filter_map(|chunk| Some(arguments::own(chunk, catalog::find_state(&chunk.function())?))).collect()
}
