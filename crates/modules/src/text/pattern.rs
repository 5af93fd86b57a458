//! Python's regular expressions on top of a Rust engine: where the two differ, Python is right.

use fancy_regex::{Captures, Regex};

use crate::{Error, Result};

/// Python's `re` flags, as far as they change what matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
}

impl Flags {
    pub const MULTI_LINE: Flags = Flags { ignore_case: false, multi_line: true, dot_all: false, verbose: false };

    /// From Python's number.
    pub fn from_bits(bits: i64) -> Flags {
        let has = |bit: i64| bits & bit != 0;
        Flags { ignore_case: has(2), multi_line: has(8), dot_all: has(16), verbose: has(64) }
    }

    /// Adds a flag by its name in Python.
    pub fn add(&mut self, name: &str) -> Result<()> {
        match name.to_ascii_uppercase().as_str() {
            "I" | "IGNORECASE" => self.ignore_case = true,
            "M" | "MULTILINE" => self.multi_line = true,
            "S" | "DOTALL" => self.dot_all = true,
            "X" | "VERBOSE" => self.verbose = true,
            // Text is always Unicode here, and never of a locale.
            "U" | "UNICODE" | "L" | "LOCALE" | "A" | "ASCII" | "T" | "TEMPLATE" => {}
            _ => {
                return Err(Error::arguments(format!("Invalid re flag given: {name}"))
                    .hint("known are IGNORECASE, MULTILINE, DOTALL and VERBOSE"));
            }
        }
        Ok(())
    }
}

pub struct Pattern(Regex);

impl Pattern {
    pub fn new(text: &str, flags: Flags) -> Result<Pattern> {
        Regex::new(&translate(text, flags))
            .map(Pattern)
            .map_err(|error| Error::arguments(format!("'{text}' is no regular expression: {error}")))
    }

    /// Matches somewhere.
    pub fn search(&self, text: &str) -> Result<bool> {
        self.0.is_match(text).map_err(|error| fault(&error))
    }

    /// Matches from the start, not necessarily to the end.
    pub fn matches_start(&self, text: &str) -> Result<bool> {
        let found = self.0.find(text).map_err(|error| fault(&error))?;
        Ok(found.is_some_and(|found| found.start() == 0))
    }

    /// Replaces as `re.subn` does; a count of 0 means all. Also how many were replaced.
    pub fn replace(&self, text: &str, template: &Template, count: usize) -> Result<(String, usize)> {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        let mut last = 0;
        for captures in self.0.captures_iter(text) {
            if count > 0 && done == count {
                break;
            }
            let captures = captures.map_err(|error| fault(&error))?;
            let Some(whole) = captures.get(0) else { continue };
            out.push_str(&text[last..whole.start()]);
            template.expand(&captures, &mut out)?;
            last = whole.end();
            done += 1;
        }
        out.push_str(&text[last..]);
        Ok((out, done))
    }
}

fn fault(error: &fancy_regex::Error) -> Error {
    Error::failed(format!("the regular expression took too long: {error}")).hint("make it simpler")
}

/// What to put in place of a match: text with `\1`, `\g<name>` and the usual escapes.
#[derive(Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Number(usize),
    Name(String),
}

impl Template {
    /// Text as it stands.
    pub fn literal(text: &str) -> Template {
        Template(vec![Part::Text(text.to_owned())])
    }

    pub fn parse(text: &str) -> Result<Template> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter != '\\' {
                plain.push(letter);
                continue;
            }
            let part = match letters.next() {
                None => return Err(Error::arguments("the replacement ends in a lone backslash")),
                Some('g') => Some(group(&mut letters, text)?),
                Some(digit @ '1'..='9') => {
                    let mut number = digit as usize - '0' as usize;
                    if let Some(next) = letters.peek().and_then(|next| next.to_digit(10)) {
                        letters.next();
                        number = number * 10 + next as usize;
                    }
                    Some(Part::Number(number))
                }
                Some(other) => {
                    plain.push(escape(other)?);
                    None
                }
            };
            if let Some(part) = part {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(part);
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template(parts))
    }

    fn expand(&self, captures: &Captures<'_, str>, out: &mut String) -> Result<()> {
        for part in &self.0 {
            let (found, known) = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Number(number) => (captures.get(*number), *number < captures.len()),
                Part::Name(name) => (captures.name(name), true),
            };
            if !known {
                return Err(Error::arguments("the replacement names a group that the pattern doesn't have"));
            }
            // A group that took no part in the match gives nothing.
            out.push_str(found.map_or("", |found| found.as_str()));
        }
        Ok(())
    }
}

fn group(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, text: &str) -> Result<Part> {
    let broken = || Error::arguments(format!("'{text}' has a \\g without <name>"));
    if letters.next() != Some('<') {
        return Err(broken());
    }
    let mut name = String::new();
    loop {
        match letters.next().ok_or_else(broken)? {
            '>' => break,
            letter => name.push(letter),
        }
    }
    Ok(name.parse().map_or(Part::Name(name), Part::Number))
}

fn escape(letter: char) -> Result<char> {
    Ok(match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        '0' => '\0',
        '\\' => '\\',
        letter if letter.is_ascii_alphabetic() => {
            return Err(Error::arguments(format!("bad escape \\{letter} in the replacement"))
                .hint("write two backslashes, or give backslash_literal=True"));
        }
        // Python keeps the backslash before anything that is no letter.
        other => other,
    })
}

/// Rewrites what Python reads differently.
fn translate(text: &str, flags: Flags) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let letters = [(flags.ignore_case, 'i'), (flags.multi_line, 'm'), (flags.dot_all, 's'), (flags.verbose, 'x')];
    let letters: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
    if !letters.is_empty() {
        out.push_str("(?");
        out.push_str(&letters);
        out.push(')');
    }
    let text: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '\\' => {
                at += 1;
                match text.get(at) {
                    Some('Z') => out.push_str(r"\z"),
                    // Word bounds to the engine, plain letters to Python.
                    Some(letter @ ('<' | '>')) => out.push(*letter),
                    Some(letter) => out.extend(['\\', *letter]),
                    None => out.push('\\'),
                }
            }
            '[' => at = class(&text, at, &mut out),
            '{' => match repetition(&text[at..]) {
                Some(0) => out.push_str("{0"),
                Some(_) => out.push('{'),
                None => out.push_str(r"\{"),
            },
            '$' if !flags.multi_line => out.push_str(r"(?=\n?\z)"),
            letter => out.push(letter),
        }
        at += 1;
    }
    out
}

/// Copies a set such as `[^]a[]`, in which Python knows no sets; returns the place of its end.
fn class(text: &[char], start: usize, out: &mut String) -> usize {
    let mut at = start + 1;
    out.push('[');
    if text.get(at) == Some(&'^') {
        out.push('^');
        at += 1;
    }
    let first = at;
    while let Some(letter) = text.get(at) {
        match letter {
            ']' if at > first => break,
            ']' => out.push_str(r"\]"),
            '[' | '&' | '~' => out.extend(['\\', *letter]),
            '\\' => {
                at += 1;
                match text.get(at) {
                    Some(letter @ ('<' | '>')) => out.push(*letter),
                    Some('b') => out.push_str(r"\x08"),
                    Some(letter) => out.extend(['\\', *letter]),
                    None => out.push('\\'),
                }
            }
            letter => out.push(*letter),
        }
        at += 1;
    }
    out.push(']');
    at
}

/// How many digits stand before the comma of `{2,5}`; none if it is no repetition but text.
fn repetition(text: &[char]) -> Option<usize> {
    let end = text.iter().position(|letter| *letter == '}')?;
    let inside: String = text[1..end].iter().collect();
    let (low, high) = inside.split_once(',').unwrap_or((&inside, &inside));
    let digits = |part: &str| part.chars().all(|letter| letter.is_ascii_digit());
    (digits(low) && digits(high) && !inside.is_empty() && inside != ",").then_some(low.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_is_what_python_matches() {
        let multi = Flags::MULTI_LINE;
        let none = Flags::default();
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
            let found = Pattern::new(pattern, flags).expect(pattern).search(text).expect(pattern);
            assert_eq!(found, expected, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn replacements_are_pythons() {
        let cases = [
            (r"t(\w+)", r"<\1>", 1, "one two three", "one <wo> three"),
            (r"t(?P<n>\w+)", r"<\g<n>>", 0, "two three", "<wo> <hree>"),
            (r"(a)|(b)", r"[\2]", 0, "ab", "[][b]"),
            ("a", r"x\ny\\z", 0, "a", "x\ny\\z"),
            ("a", r"\g<0>\g<0>", 0, "a", "aa"),
            ("x*", "-", 0, "abc", "-a-b-c-"),
        ];
        for (pattern, template, count, text, expected) in cases {
            let template = Template::parse(template).expect(pattern);
            let pattern = Pattern::new(pattern, Flags::default()).expect(pattern);
            assert_eq!(pattern.replace(text, &template, count).expect("it is short").0, expected);
        }
        assert!(Template::parse(r"\q").is_err());
        assert!(Template::parse(r"\g<x").is_err());
        assert!(Template::parse("\\").is_err());
        let wrong = Template::parse(r"\3").expect("it parses");
        assert!(Pattern::new("a", Flags::default()).expect("fine").replace("a", &wrong, 0).is_err());
    }

    #[test]
    fn flags_have_names_and_numbers() {
        let mut flags = Flags::default();
        flags.add("IGNORECASE").expect("known");
        flags.add("m").expect("known");
        assert_eq!(flags, Flags::from_bits(10));
        assert!(flags.add("BOGUS").is_err());
    }
}
