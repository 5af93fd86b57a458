//! [`ReplacementTemplate`]: a replacement text with group references.

use fancy_regex::{Captures, Regex};

use super::Error;

/// A template with `\1`, `\g<name>` and the usual escapes, as in Python's `re.sub`.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplacementTemplate {
    text: String,
    parts: Vec<TemplatePart>,
}

#[derive(Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Number(usize),
    Name(String),
}

impl ReplacementTemplate {
    /// A template without references or escapes.
    pub fn literal(text: &str) -> ReplacementTemplate {
        ReplacementTemplate { text: text.to_owned(), parts: vec![TemplatePart::Text(text.to_owned())] }
    }

    pub fn parse(text: &str) -> Result<ReplacementTemplate, Error> {
        let parts = parts(text).map_err(|reason| Error::Template { template: text.to_owned(), reason })?;
        Ok(ReplacementTemplate { text: text.to_owned(), parts })
    }

    /// Checks that the referenced groups exist, even if nothing matches.
    pub(super) fn check(&self, regex: &Regex) -> Result<(), Error> {
        let is_known = |part: &&TemplatePart| match part {
            TemplatePart::Text(_) => true,
            TemplatePart::Number(number) => *number < regex.captures_len(),
            TemplatePart::Name(name) => regex.capture_names().flatten().any(|known| known == name),
        };
        match self.parts.iter().find(|part| !is_known(part)) {
            None => Ok(()),
            Some(part) => {
                let group = match part {
                    TemplatePart::Number(number) => number.to_string(),
                    TemplatePart::Name(text) | TemplatePart::Text(text) => text.clone(),
                };
                let reason = format!("the pattern has no group '{group}'");
                Err(Error::Template { template: self.text.clone(), reason })
            }
        }
    }

    /// Expands the template. A group that didn't take part in the match is empty.
    pub(super) fn expand(&self, captures: &Captures<'_, str>, out: &mut String) {
        for part in &self.parts {
            let found = match part {
                TemplatePart::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                TemplatePart::Number(number) => captures.get(*number),
                TemplatePart::Name(name) => captures.name(name),
            };
            out.push_str(found.map_or("", |found| found.as_str()));
        }
    }
}

fn parts(text: &str) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        let part = match letters.next() {
            None => return Err("it ends in a lone backslash".into()),
            Some('g') => Some(group(&mut letters)?),
            Some(digit @ '1'..='9') => {
                let mut number = digit as usize - '0' as usize;
                if let Some(next) = letters.peek().and_then(|next| next.to_digit(10)) {
                    letters.next();
                    number = number * 10 + next as usize;
                }
                Some(TemplatePart::Number(number))
            }
            Some(other) => {
                escape(other, &mut plain)?;
                None
            }
        };
        if let Some(part) = part {
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(part);
        }
    }
    if !plain.is_empty() {
        parts.push(TemplatePart::Text(plain));
    }
    Ok(parts)
}

fn group(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<TemplatePart, String> {
    let broken = || "it has a \\g without <name>".to_owned();
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
    Ok(name.parse().map_or(TemplatePart::Name(name), TemplatePart::Number))
}

fn escape(letter: char, out: &mut String) -> Result<(), String> {
    let meant = match letter {
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
            return Err(format!("bad escape \\{letter}; write two backslashes for one"));
        }
        // Python keeps the backslash before a character that isn't a letter.
        other => {
            out.push('\\');
            other
        }
    };
    out.push(meant);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Flags, Pattern};
    use super::*;

    #[test]
    fn replacements_are_pythons() {
        let cases = [
            (r"t(\w+)", r"<\1>", 1, "one two three", "one <wo> three"),
            (r"t(?P<n>\w+)", r"<\g<n>>", 0, "two three", "<wo> <hree>"),
            (r"(a)|(b)", r"[\2]", 0, "ab", "[][b]"),
            ("a", r"x\ny\\z", 0, "a", "x\ny\\z"),
            ("a", r"\g<0>\g<0>", 0, "a", "aa"),
            ("a", r"b\.c", 0, "a", r"b\.c"),
            ("x*", "-", 0, "abc", "-a-b-c-"),
        ];
        for (pattern, template, count, text, expected) in cases {
            let template = ReplacementTemplate::parse(template).expect(pattern);
            let pattern = Pattern::new(pattern, Flags::NONE).expect(pattern);
            assert_eq!(pattern.replace(text, &template, count).expect("it is short").0, expected);
        }
        for template in [r"\q", r"\g<x", "\\"] {
            assert!(ReplacementTemplate::parse(template).is_err(), "{template}");
        }
        for template in [r"\3", r"\g<none>"] {
            let template = ReplacementTemplate::parse(template).expect("it parses");
            assert!(Pattern::new("a", Flags::NONE).expect("fine").replace("b", &template, 0).is_err());
        }
    }
}
