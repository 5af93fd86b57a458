//! The functions of the small agent, selected from all functions by their nature.

use super::CatalogFunction;

type Nouns = [(&'static str, &'static [CatalogFunction])];

/// The number of these functions.
pub const fn count(nouns: &Nouns) -> usize {
    let (mut total, mut noun) = (0, 0);
    while noun < nouns.len() {
        let mut at = 0;
        while at < nouns[noun].1.len() {
            total += nouns[noun].1[at].nature.small as usize;
            at += 1;
        }
        noun += 1;
    }
    total
}

/// All of these functions; there must be at least one.
pub const fn choose<const N: usize>(nouns: &Nouns) -> [CatalogFunction; N] {
    let mut chosen = [nouns[0].1[0]; N];
    let (mut next, mut noun) = (0, 0);
    while noun < nouns.len() {
        let mut at = 0;
        while at < nouns[noun].1.len() {
            if nouns[noun].1[at].nature.small {
                chosen[next] = nouns[noun].1[at];
                next += 1;
            }
            at += 1;
        }
        noun += 1;
    }
    chosen
}
