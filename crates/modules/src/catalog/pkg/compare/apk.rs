//! Compares versions as `apk version -t` does: `1.2.3a_rc1_p2~hash-r4`.

use std::cmp::Ordering;

pub fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (ApkVersion::read(one), ApkVersion::read(other));
    numbers(&one.numbers, &other.numbers)
        .then_with(|| one.letter.cmp(&other.letter))
        .then_with(|| suffixes(&one.suffixes, &other.suffixes))
        .then_with(|| one.revision.cmp(&other.revision))
}

#[derive(Default)]
struct ApkVersion<'a> {
    numbers: Vec<&'a str>,
    letter: Option<char>,
    /// The rank and the number of each suffix.
    suffixes: Vec<(i8, u64)>,
    revision: u64,
}

impl ApkVersion<'_> {
    fn read(text: &str) -> ApkVersion<'_> {
        let (text, revision) = match text.rsplit_once("-r") {
            Some((text, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => (text, digits),
            _ => (text, "0"),
        };
        // The text after a tilde is a commit, which doesn't affect the order.
        let text = text.split_once('~').map_or(text, |(text, _)| text);
        let mut parts = text.split('_');
        let plain = parts.next().unwrap_or_default();
        let letter = plain.chars().last().filter(char::is_ascii_lowercase);
        let plain = plain.trim_end_matches(|last: char| last.is_ascii_lowercase());
        ApkVersion {
            numbers: plain.split('.').collect(),
            letter,
            suffixes: parts.map(suffix).collect(),
            revision: revision.parse().unwrap_or_default(),
        }
    }
}

fn suffix(text: &str) -> (i8, u64) {
    let name = text.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let rank = match name {
        "alpha" => -4,
        "beta" => -3,
        "pre" => -2,
        "rc" => -1,
        "cvs" => 1,
        "svn" => 2,
        "git" => 3,
        "hg" => 4,
        _ => 5,
    };
    (rank, text[name.len()..].parse().unwrap_or_default())
}

/// Compares the first part as numbers; further parts that begin with a zero compare as decimal fractions.
fn numbers(one: &[&str], other: &[&str]) -> Ordering {
    for (index, (a, b)) in one.iter().zip(other).enumerate() {
        let fraction = index > 0 && (a.starts_with('0') || b.starts_with('0'));
        let order = match fraction {
            true => a.cmp(b),
            false => {
                let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    one.len().cmp(&other.len())
}

fn suffixes(one: &[(i8, u64)], other: &[(i8, u64)]) -> Ordering {
    let longest = one.len().max(other.len());
    let at = |list: &[(i8, u64)], index: usize| list.get(index).copied().unwrap_or((0, 0));
    (0..longest)
        .map(|index| at(one, index).cmp(&at(other, index)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// From apk-tools' own `test/version.data`.
    #[test]
    fn versions_are_compared_as_apk_does() {
        let cases = [
            ("2.34", "0.1.0_alpha", Ordering::Greater),
            ("0.1.0_alpha", "0.1.3_alpha", Ordering::Less),
            ("0.12.0_beta1", "0.12.0_beta2", Ordering::Less),
            ("1.0.4_p1", "1.0.4", Ordering::Greater),
            ("1.0.4_rc1", "1.0.4", Ordering::Less),
            ("1.0_alpha", "1.0_beta", Ordering::Less),
            ("1.0_rc1_p1", "1.0_rc1", Ordering::Greater),
            ("1.2.3-r1", "1.2.3-r10", Ordering::Less),
            ("1.2.3", "1.2.3-r0", Ordering::Equal),
            ("1.0b", "1.0a", Ordering::Greater),
            ("1.0a", "1.0", Ordering::Greater),
            ("1.0", "1.0.0", Ordering::Less),
            ("0.9.10", "0.9.9", Ordering::Greater),
            ("1.05", "1.5", Ordering::Less),
            ("1.1.1k-r0", "1.1.1l-r0", Ordering::Less),
            ("5.2_git20200101", "5.2", Ordering::Greater),
        ];
        check(compare, &cases);
    }
}
