//! Compares versions as `vercmp` does: `epoch:version-release`.

use std::cmp::Ordering;

pub fn compare(one: &str, other: &str) -> Ordering {
    let (epoch, rest) = one.split_once(':').unwrap_or(("0", one));
    let (other_epoch, other_rest) = other.split_once(':').unwrap_or(("0", other));
    let (version, release) = rest.rsplit_once('-').map_or((rest, None), |(version, release)| (version, Some(release)));
    let (other_version, other_release) =
        other_rest.rsplit_once('-').map_or((other_rest, None), |(version, release)| (version, Some(release)));
    parts(epoch, other_epoch).then_with(|| parts(version, other_version)).then_with(|| match (release, other_release) {
        (Some(release), Some(other)) => parts(release, other),
        // A version without a release matches all releases.
        _ => Ordering::Equal,
    })
}

/// Compares runs of letters or digits. Letters at the end make a version older (`1.0rc` before `1.0`), unless a
/// separator precedes them.
fn parts(mut one: &str, mut other: &str) -> Ordering {
    let plain = |letter: char| letter.is_ascii_alphanumeric();
    let separators = |text: &str| text.find(plain).unwrap_or(text.len());
    while !one.is_empty() && !other.is_empty() {
        let (gap, other_gap) = (separators(one), separators(other));
        (one, other) = (&one[gap..], &other[other_gap..]);
        if one.is_empty() || other.is_empty() {
            break;
        }
        if gap != other_gap {
            return gap.cmp(&other_gap);
        }
        let digits = one.starts_with(|letter: char| letter.is_ascii_digit());
        let belongs = |letter: char| if digits { letter.is_ascii_digit() } else { letter.is_ascii_alphabetic() };
        let end = |text: &str| text.find(|letter| !belongs(letter)).unwrap_or(text.len());
        let (a, rest) = one.split_at(end(one));
        let (b, other_rest) = other.split_at(end(other));
        if b.is_empty() {
            return if digits { Ordering::Greater } else { Ordering::Less };
        }
        let order = match digits {
            true => {
                let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            }
            false => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (rest, other_rest);
    }
    let letter = |text: &str| text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    match (one.is_empty(), other.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) if letter(other) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, _) if letter(one) => Ordering::Less,
        (false, _) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// From pacman's own `test/util/vercmptest.sh`.
    #[test]
    fn versions_are_compared_as_vercmp_does() {
        let cases = [
            ("1.5.0", "1.5.0", Ordering::Equal),
            ("1.5.1", "1.5.0", Ordering::Greater),
            ("1.5.1", "1.5", Ordering::Greater),
            ("1.5.0-1", "1.5.0-2", Ordering::Less),
            ("1.5.0-1", "1.5.1-1", Ordering::Less),
            ("1.5-1", "1.5", Ordering::Equal),
            ("1.5-1", "1.6", Ordering::Less),
            ("1.5b-1", "1.5-1", Ordering::Less),
            ("1.5b", "1.5", Ordering::Less),
            ("1.5b-1", "1.5", Ordering::Less),
            ("1.5b", "1.5.1", Ordering::Less),
            ("1.0a", "1.0alpha", Ordering::Less),
            ("1.0alpha", "1.0b", Ordering::Less),
            ("1.0beta", "1.0rc", Ordering::Less),
            ("1.0rc", "1.0", Ordering::Less),
            ("1.5.a", "1.5", Ordering::Greater),
            ("1.5.b", "1.5.a", Ordering::Greater),
            ("1.5.1", "1.5.b", Ordering::Greater),
            ("2.0", "2_0", Ordering::Equal),
            ("2.0_a", "2_0.a", Ordering::Equal),
            ("0:1.0", "1.0", Ordering::Equal),
            ("1:1.0", "2.0", Ordering::Greater),
            ("1:1.0", "0:1.1", Ordering::Greater),
        ];
        check(compare, &cases);
    }
}
