//! Compares versions as rpm does: `epoch:version-release`, with `~` before and `^` after the end.

use std::cmp::Ordering;

pub fn compare(one: &str, other: &str) -> Ordering {
    let (epoch, rest) = one.split_once(':').unwrap_or(("0", one));
    let (other_epoch, other_rest) = other.split_once(':').unwrap_or(("0", other));
    let (version, release) = rest.split_once('-').unwrap_or((rest, ""));
    let (other_version, other_release) = other_rest.split_once('-').unwrap_or((other_rest, ""));
    let releases = || match release.is_empty() || other_release.is_empty() {
        // A version without a release matches all releases.
        true => Ordering::Equal,
        false => parts(release, other_release),
    };
    parts(epoch, other_epoch).then_with(|| parts(version, other_version)).then_with(releases)
}

/// Compares runs of letters or digits; a tilde sorts before the end, a caret after it.
fn parts(mut one: &str, mut other: &str) -> Ordering {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '~' || letter == '^';
    loop {
        one = one.trim_start_matches(|letter| !plain(letter));
        other = other.trim_start_matches(|letter| !plain(letter));
        match (one.strip_prefix('~'), other.strip_prefix('~')) {
            (Some(a), Some(b)) => {
                (one, other) = (a, b);
                continue;
            }
            (Some(_), None) => return Ordering::Less,
            (None, Some(_)) => return Ordering::Greater,
            (None, None) => {}
        }
        match (one.strip_prefix('^'), other.strip_prefix('^')) {
            (Some(a), Some(b)) => {
                (one, other) = (a, b);
                continue;
            }
            (Some(_), None) => return if other.is_empty() { Ordering::Greater } else { Ordering::Less },
            (None, Some(_)) => return if one.is_empty() { Ordering::Less } else { Ordering::Greater },
            (None, None) => {}
        }
        if one.is_empty() || other.is_empty() {
            return one.len().cmp(&other.len());
        }
        let digits = one.starts_with(|letter: char| letter.is_ascii_digit());
        let belongs = |letter: char| if digits { letter.is_ascii_digit() } else { letter.is_ascii_alphabetic() };
        let end = |text: &str| text.find(|letter| !belongs(letter)).unwrap_or(text.len());
        let (a, rest) = one.split_at(end(one));
        let (b, other_rest) = other.split_at(end(other));
        if b.is_empty() {
            // A number is newer than a word.
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
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// The results of `rpmvercmp`.
    #[test]
    fn versions_are_compared_as_rpm_does() {
        let cases = [
            ("1.0", "1.0", Ordering::Equal),
            ("1.0", "2.0", Ordering::Less),
            ("2.0.1", "2.0.1a", Ordering::Less),
            ("5.5p1", "5.5p10", Ordering::Less),
            ("10xyz", "10.1xyz", Ordering::Less),
            ("xyz10", "xyz10.1", Ordering::Less),
            ("1.0~rc1", "1.0", Ordering::Less),
            ("1.0^", "1.0", Ordering::Greater),
            ("1.0^git1", "1.0.1", Ordering::Less),
            ("1.05", "1.5", Ordering::Equal),
            ("1:1.0", "2.0", Ordering::Greater),
            ("1.0-1", "1.0-2", Ordering::Less),
            ("1.0", "1.0-2", Ordering::Equal),
        ];
        check(compare, &cases);
    }
}
