//! Matches patterns with `*`, `?` and `!`, as ssh's files use them.

/// Whether the whole text matches: `*` matches any number of characters, `?` one.
pub fn matches(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut place) = (0, 0);
    // Where to resume if the text after the last `*` doesn't match: no recursion, so no exponential time.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(place) {
            Some(b'*') => {
                retry = Some((at, place));
                place += 1;
            }
            Some(&byte) if byte == b'?' || byte == text[at] => {
                at += 1;
                place += 1;
            }
            _ => match retry {
                Some((from, star)) => {
                    retry = Some((from + 1, star));
                    at = from + 1;
                    place = star + 1;
                }
                None => return false,
            },
        }
    }
    pattern[place..].iter().all(|byte| *byte == b'*')
}

/// Whether one of the patterns matches and no negated one does.
pub fn matches_any<'a>(text: &str, patterns: impl IntoIterator<Item = &'a str>) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(negated) if matches(text, negated) => return false,
            Some(_) => {}
            None => found = found || matches(text, pattern),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pattern() {
        for (text, pattern, expected) in [
            ("web1", "web1", true),
            ("web1", "web?", true),
            ("web", "web?", false),
            ("web12", "web?", false),
            ("web", "web*", true),
            ("web", "*", true),
            ("", "*", true),
            ("", "", true),
            ("a", "", false),
            ("db.a.b", "*.b", true),
            ("db.a.b", "db.*.b", true),
            ("db.a.c", "db.*.b", false),
            ("aaab", "*ab", true),
            ("Web", "web", false),
        ] {
            assert_eq!(matches(text, pattern), expected, "{text} against {pattern}");
        }
        assert!(!matches(&"a".repeat(5000), &"*a".repeat(50).replace("*a*a", "*a*ab")));
    }

    #[test]
    fn a_negated_one_wins_wherever_it_stands() {
        assert!(matches_any("a", ["*", "!b"]));
        assert!(!matches_any("b", ["*", "!b"]));
        assert!(!matches_any("b", ["!b", "*"]));
        assert!(!matches_any("a", ["!b"]));
    }
}
