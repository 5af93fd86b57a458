//! Shell patterns as in Python's `fnmatch`: `*`, `?`, `[seq]`, `[!seq]`, case-sensitive.

/// Whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    Glob::new(pattern).matches(text)
}

/// Whether a text contains wildcards.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A parsed pattern, for repeated matching.
#[derive(Clone, Debug)]
pub struct Glob(Vec<GlobPiece>);

#[derive(Clone, Debug)]
enum GlobPiece {
    Any,
    One,
    Char(char),
    Set { not: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    /// Parses a pattern. Every text is valid: a `[` that isn't closed is literal.
    pub fn new(pattern: &str) -> Glob {
        let chars: Vec<char> = pattern.chars().collect();
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '*' if matches!(pieces.last(), Some(GlobPiece::Any)) => {}
                '*' => pieces.push(GlobPiece::Any),
                '?' => pieces.push(GlobPiece::One),
                '[' => match set(&chars[at..]) {
                    Some((piece, length)) => {
                        pieces.push(piece);
                        at += length;
                    }
                    None => pieces.push(GlobPiece::Char('[')),
                },
                c => pieces.push(GlobPiece::Char(c)),
            }
        }
        Glob(pieces)
    }

    pub fn matches(&self, text: &str) -> bool {
        let (pieces, text): (&[GlobPiece], Vec<char>) = (&self.0, text.chars().collect());
        let (mut piece, mut at) = (0, 0);
        // Where to continue if the last star must match one more character. Only the last star ever needs a retry, so
        // the worst case is quadratic.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match pieces.get(piece) {
                Some(GlobPiece::Any) => {
                    retry = Some((piece + 1, at));
                    piece += 1;
                    continue;
                }
                Some(one) if text.get(at).is_some_and(|c| one.takes(*c)) => {
                    piece += 1;
                    at += 1;
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            match &mut retry {
                Some((next, taken)) if *taken < text.len() => {
                    *taken += 1;
                    (piece, at) = (*next, *taken);
                }
                _ => return false,
            }
        }
    }
}

impl GlobPiece {
    fn takes(&self, c: char) -> bool {
        match self {
            GlobPiece::Any | GlobPiece::One => true,
            GlobPiece::Char(wanted) => *wanted == c,
            GlobPiece::Set { not, ranges } => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not,
        }
    }
}

/// Parses the set after a `[`; also returns its length with the `]`.
fn set(chars: &[char]) -> Option<(GlobPiece, usize)> {
    let not = chars.first() == Some(&'!');
    let start = usize::from(not);
    // A `]` at the start is a member of the set.
    let end = start + 1 + chars.get(start + 1..)?.iter().position(|c| *c == ']')?;
    let members = &chars[start..end];
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(&from) = members.get(at) {
        match (members.get(at + 1), members.get(at + 2)) {
            // A reversed range is empty.
            (Some('-'), Some(&to)) => {
                ranges.push((from, to));
                at += 3;
            }
            _ => {
                ranges.push((from, from));
                at += 1;
            }
        }
    }
    Some((GlobPiece::Set { not, ranges }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_are_fnmatchs() {
        let cases = [
            ("*", "", true),
            ("web*", "web1.example", true),
            ("*1*e", "web1.example", true),
            ("*a*b*c", "aXbXbXc", true),
            ("*a*b*c", "aXcXb", false),
            ("web?", "web", false),
            ("web?", "web1", true),
            ("web[12]", "web2", true),
            ("web[!12]", "web2", false),
            ("web[!12]", "web3", true),
            ("web[1-3]", "web2", true),
            ("web[3-1]", "web2", false),
            ("web[^1]", "web^", true),
            ("web[]x]", "web]", true),
            ("web[!]x]", "weby", true),
            ("web[", "web[", true),
            ("web[1", "web[1", true),
            ("[!]", "[!]", true),
            ("[a-]", "-", true),
            ("[--a]", "A", true),
            ("Web", "web", false),
            ("", "", true),
            ("", "a", false),
            ("ü?", "üß", true),
            ("**a**", "bab", true),
            ("a*", "a\nb", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!matches(&"a*".repeat(5_000), &"a".repeat(4_000)));
    }
}
