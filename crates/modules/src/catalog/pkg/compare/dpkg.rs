//! Compares versions as `dpkg --compare-versions` does: `epoch:upstream-revision`.

use std::cmp::Ordering;

pub fn compare(one: &str, other: &str) -> Ordering {
    let ((epoch, rest), (other_epoch, other_rest)) = (split(one, ':', "0"), split(other, ':', "0"));
    let (upstream, revision) = split_last(rest);
    let (other_upstream, other_revision) = split_last(other_rest);
    parts(epoch, other_epoch)
        .then_with(|| parts(upstream, other_upstream))
        .then_with(|| parts(revision, other_revision))
}

fn split<'a>(version: &'a str, at: char, without: &'a str) -> (&'a str, &'a str) {
    version.split_once(at).unwrap_or((without, version))
}

fn split_last(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, ""))
}

/// Compares runs of letters and digits in turn; a tilde sorts before everything, even the end.
fn parts(mut one: &str, mut other: &str) -> Ordering {
    let weight = |letter: Option<char>| match letter {
        None => 0,
        Some('~') => -1,
        Some(letter) if letter.is_ascii_digit() => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i64::from(letter as u32),
        Some(letter) => i64::from(letter as u32) + 256,
    };
    let letters = |text: &str| text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    while !one.is_empty() || !other.is_empty() {
        let (first, rest) = one.split_at(letters(one));
        let (other_first, other_rest) = other.split_at(letters(other));
        let (mut a, mut b) = (first.chars(), other_first.chars());
        loop {
            let (x, y) = (a.next(), b.next());
            if x.is_none() && y.is_none() {
                break;
            }
            match weight(x).cmp(&weight(y)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        let (number, rest) = rest.split_at(digits(rest));
        let (other_number, other_rest) = other_rest.split_at(digits(other_rest));
        let (number, other_number) = (number.trim_start_matches('0'), other_number.trim_start_matches('0'));
        match number.len().cmp(&other_number.len()).then_with(|| number.cmp(other_number)) {
            Ordering::Equal => (one, other) = (rest, other_rest),
            unequal => return unequal,
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    /// The results of `dpkg --compare-versions`.
    #[test]
    fn versions_are_compared_as_dpkg_does() {
        let cases = [
            ("1.0", "1.0", Ordering::Equal),
            ("1.0", "1.00", Ordering::Equal),
            ("1.2", "1.10", Ordering::Less),
            ("1.0~rc1", "1.0", Ordering::Less),
            ("1.0~~", "1.0~", Ordering::Less),
            ("1.0-1", "1.0-2", Ordering::Less),
            ("1.0", "1.0-1", Ordering::Less),
            ("1.0", "1.0-0", Ordering::Equal),
            ("2:1.0", "1:9.0", Ordering::Greater),
            ("1.0a", "1.0", Ordering::Greater),
            ("1.0+b1", "1.0a", Ordering::Greater),
            ("1.0a", "1.0.1", Ordering::Less),
            ("0:1", "1", Ordering::Equal),
            ("5.9-4ubuntu1", "5.9-4", Ordering::Greater),
        ];
        check(compare, &cases);
    }
}
