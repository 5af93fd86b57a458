//! [`Pattern`]: a regular expression in the syntax of Python's `re`.

use fancy_regex::{Regex, RegexBuilder};

use super::python::Translator;
use super::{Error, Flags, ReplacementTemplate};

/// Where a match may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegexPosition {
    Start,
    Anywhere,
    /// From the start, up to the end.
    Whole,
}

impl RegexPosition {
    /// The limit of backtracking steps of a match, so that no pattern and no text can block us. A search takes a step
    /// for each character, possibly of a large file.
    fn steps(self) -> usize {
        match self {
            RegexPosition::Start | RegexPosition::Whole => 100_000,
            RegexPosition::Anywhere => 10_000_000,
        }
    }

    /// The size limit of a compiled pattern in bytes. A pattern for targets must not take seconds to compile; one for
    /// files has the engine's default, which `\w{1,300}` needs.
    fn size(self) -> usize {
        match self {
            RegexPosition::Start | RegexPosition::Whole => 2 * 1024 * 1024,
            RegexPosition::Anywhere => 10 * 1024 * 1024,
        }
    }
}

/// A compiled regular expression, for repeated matching.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern that matches anywhere in a text, like `re.search`.
    pub fn new(pattern: &str, flags: Flags) -> Result<Pattern, Error> {
        build(pattern, flags, RegexPosition::Anywhere)
    }

    /// Compiles a pattern that matches from the start of a text, not necessarily to its end, like `re.match`.
    pub fn at_start(pattern: &str, flags: Flags) -> Result<Pattern, Error> {
        build(pattern, flags, RegexPosition::Start)
    }

    /// Compiles a pattern that matches only a whole text, like `re.fullmatch`.
    pub fn whole(pattern: &str, flags: Flags) -> Result<Pattern, Error> {
        build(pattern, flags, RegexPosition::Whole)
    }

    pub fn matches(&self, text: &str) -> Result<bool, Error> {
        self.0.is_match(text).map_err(|_| Error::TooLong)
    }

    /// The text of the first match.
    pub fn find<'t>(&self, text: &'t str) -> Result<Option<&'t str>, Error> {
        Ok(self.0.find(text).map_err(|_| Error::TooLong)?.map(|found| found.as_str()))
    }

    /// The groups of the first match, starting with the whole match; `None` if there is no match.
    pub fn groups<'t>(&self, text: &'t str) -> Result<Option<Vec<Option<&'t str>>>, Error> {
        let captures = self.0.captures(text).map_err(|_| Error::TooLong)?;
        Ok(captures.map(|captures| captures.iter().map(|group| group.map(|group| group.as_str())).collect()))
    }

    /// Replaces like `re.subn`; a count of 0 means all. Also returns the number of replacements.
    pub fn replace(&self, text: &str, template: &ReplacementTemplate, count: usize) -> Result<(String, usize), Error> {
        template.check(&self.0)?;
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        let mut last = 0;
        for captures in self.0.captures_iter(text) {
            if count > 0 && done == count {
                break;
            }
            let captures = captures.map_err(|_| Error::TooLong)?;
            let Some(whole) = captures.get(0) else { continue };
            out.push_str(&text[last..whole.start()]);
            template.expand(&captures, &mut out);
            last = whole.end();
            done += 1;
        }
        out.push_str(&text[last..]);
        Ok((out, done))
    }
}

fn build(pattern: &str, flags: Flags, place: RegexPosition) -> Result<Pattern, Error> {
    let bad = |position, reason: String| Error::Malformed { pattern: pattern.to_owned(), position, reason };
    let mut translator = Translator::new(pattern, flags);
    translator.run().map_err(|reason| bad(Some(translator.position()), reason))?;
    let (anchor, end) = match place {
        RegexPosition::Start => ("\\A", ""),
        RegexPosition::Anywhere => ("", ""),
        RegexPosition::Whole => ("\\A", "\\z"),
    };
    let prefix = format!("{anchor}(?{}:", flags.letters());
    // A comment in a verbose pattern may reach to the end, and must not include the parenthesis.
    let close = if translator.verbose { "\n)" } else { ")" };
    RegexBuilder::new(&format!("{prefix}{}{close}{end}", translator.output))
        .backtrack_limit(place.steps())
        .delegate_size_limit(place.size())
        .delegate_dfa_size_limit(place.size())
        .build()
        .map(Pattern)
        .map_err(|error| {
            let position = match &error {
                fancy_regex::Error::ParseError(at, _) => Some(translator.origin(at.saturating_sub(prefix.len()))),
                _ => None,
            };
            bad(position, reason(&error))
        })
}

/// The last line has the message; the lines before it show the translated pattern, which the user didn't write.
fn reason(error: &fancy_regex::Error) -> String {
    let text = match error {
        fancy_regex::Error::ParseError(_, kind) => kind.to_string(),
        other => other.to_string(),
    };
    let last = text.trim_end().lines().last().unwrap_or_default();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    last.strip_prefix("Parsing error at position")
        .map_or(last, |rest| rest.split_once(": ").map_or(rest, |(_, text)| text))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_start(pattern: &str) -> Pattern {
        Pattern::at_start(pattern, Flags::NONE).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_match_has_its_groups() {
        let anywhere = Pattern::new("b(c)(x)?", Flags::NONE).expect("a pattern");
        assert_eq!(anywhere.groups("abcd"), Ok(Some(vec![Some("bc"), Some("c"), None])));
        assert_eq!(anywhere.groups("xyz"), Ok(None));
        assert_eq!(at_start("bc").groups("abcd"), Ok(None));
    }

    #[test]
    fn patterns_are_pythons_from_the_start() {
        let cases = [
            ("web", "web1", true),
            ("eb", "web1", false),
            ("web$", "web1", false),
            ("web$", "web\n", true),
            (r"web\Z", "web\n", false),
            (r"(?P<a>x)(?P=a)", "xx", true),
            (r"(a)\1", "aa", true),
            (r"(a)\1{2}$", "aaa", true),
            (r"(?i)WEB", "web", true),
            (r"a{,2}b", "aab", true),
            (r"a{,2}b", "aaab", false),
            (r"{x}", "{x}", true),
            (r"a{", "a{", true),
            (r"[[]x", "[x", true),
            (r"[]x]", "]", true),
            (r"[a&&b]", "&", true),
            (r"[+--]", "-", true),
            (r"[\b]", "\u{8}", true),
            (r"[^\]]", "]", false),
            (r"\<a\>", "<a>", true),
            (r"\x41\u0042\0", "AB\0", true),
            (r"(?x) a b # c", "ab", true),
            (r"(?#text)a", "a", true),
            (r"(?a)\w", "x", true),
            (r"(?m)a$", "a\nb", true),
            (r"(?<=a)b", "ab", false),
            (r"a(?<=a)b", "ab", true),
            (r"a|b", "b", true),
            (r"web\d+\.(?!db)", "web12.x", true),
            (r"", "anything", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(at_start(pattern).matches(text), Ok(expected), "{pattern} on {text:?}");
        }
        let ignoring = Pattern::at_start(r"\D+x", Flags::IGNORE_CASE).expect("it is a pattern");
        assert_eq!(ignoring.matches("ABX"), Ok(true));
    }

    #[test]
    fn a_whole_match_leaves_nothing_over() {
        let cases = [
            ("test.ping", "test.ping", true),
            ("test.ping", "test.pingx", false),
            ("test.ping$", "test.ping\n", false),
            ("a|ab", "ab", true),
            ("(?i)a|B", "b", true),
            ("(?x)a # b", "a", true),
            (".*", "a\nb", false),
            (r"(a)\1", "aa", true),
        ];
        for (pattern, text, expected) in cases {
            let found = Pattern::whole(pattern, Flags::NONE).expect(pattern).matches(text);
            assert_eq!(found, Ok(expected), "{pattern} on {text:?}");
        }
    }

    #[test]
    fn patterns_are_pythons_anywhere() {
        let multi = Flags::MULTI_LINE;
        let none = Flags::NONE;
        let cases = [
            ("two$", none, "two\n", true),
            ("two$", none, "two\nthree", false),
            ("two$", multi, "two\nthree", true),
            (r"two\Z", multi, "two\n", false),
            ("server {", none, "server {", true),
            ("a{2}", none, "aa", true),
            ("^a{,2}$", none, "aa", true),
            ("^a{,2}$", none, "aaa", false),
            ("x{a}", none, "x{a}", true),
            (r"[[]", none, "[", true),
            (r"[^]]", none, "]", false),
            (r"[a&&b]", none, "&", true),
            (r"\<html\>", none, "<html>", true),
            (r"(?P<x>a)(?P=x)", none, "aa", true),
            (r"(a)\1", none, "aa", true),
            (r"a(?!b)", none, "ab", false),
            (r"(?<=a)b", none, "ab", true),
            (r"(?i)TWO", none, "two", true),
            ("a.b", none, "a\nb", false),
            (r"\bfoo\b", none, "a foo b", true),
            (r"path\/to\-\'\ x", none, "path/to-' x", true),
        ];
        for (pattern, flags, text, expected) in cases {
            let found = Pattern::new(pattern, flags).expect(pattern).matches(text);
            assert_eq!(found, Ok(expected), "{pattern} on {text:?}");
        }
    }

    #[test]
    fn faults_have_a_place() {
        for (pattern, position) in
            [("a(b", None), ("ab[c", Some(4)), (r"ab\q", Some(2)), ("a\\", Some(1)), ("(?<n>a)", Some(0))]
        {
            match Pattern::new(pattern, Flags::NONE) {
                Err(Error::Malformed { position: at, reason, .. }) => {
                    assert!(!reason.is_empty() && !reason.contains("(?:"), "{reason}");
                    assert!(position.is_none() || at == position, "{pattern}: {at:?}");
                }
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let text = "a".repeat(200);
        assert_ne!(at_start(r"(?:(a+)+)+\1(?=b)").matches(&text), Ok(true));
        assert_eq!(at_start(r"(([a-z])+.)+\2[A-Z]").matches(&text), Err(Error::TooLong));
        assert!(Pattern::new("((a{1000}){1000}){1000}", Flags::NONE).is_err());
    }

    #[test]
    fn a_large_text_is_searched_to_its_end() {
        let text = format!("{}needle", "a line of a file\n".repeat(100_000));
        let pattern = Pattern::new("need(?=le)", Flags::NONE).expect("it is a pattern");
        assert_eq!(pattern.matches(&text), Ok(true));
    }
}
