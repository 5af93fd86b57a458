//! Splits a line of ssh's configuration into its keyword and its arguments.

/// A line that is neither empty nor a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    /// In lower case.
    pub keyword: String,
    /// The keyword as it was written.
    pub written: String,
    pub arguments: Vec<String>,
    /// The text after the keyword, as it was written.
    pub rest: String,
}

/// Parses a line; `None` for an empty line and a comment.
pub fn line(text: &str) -> Result<Option<ConfigLine>, String> {
    let text = text.trim_matches([' ', '\t', '\r', '\u{c}']);
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let end = text.find([' ', '\t', '=', '"']).unwrap_or(text.len());
    let written = text[..end].to_owned();
    let keyword = written.to_ascii_lowercase();
    let after = text[end..].trim_start_matches([' ', '\t']);
    let rest = after.strip_prefix('=').unwrap_or(after).trim_start_matches([' ', '\t']);
    if keyword.is_empty() {
        return Err(format!("'{text}' starts with no keyword"));
    }
    if rest.is_empty() {
        return Err(format!("'{keyword}' has no value"));
    }
    let arguments = arguments(rest).ok_or_else(|| format!("a quote of '{keyword}' is not closed"))?;
    Ok(Some(ConfigLine { keyword, written, arguments, rest: rest.to_owned() }))
}

/// Splits words as ssh does: both kinds of quotes, `\"`, `\'`, `\\` and `\ `, and a comment at the beginning of a word.
/// `None` if a quote is not closed.
fn arguments(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        match characters.peek() {
            None | Some('#') => return Some(words),
            Some(_) => {}
        }
        let mut word = String::new();
        let mut quote: Option<char> = None;
        while let Some(character) = characters.next() {
            match (character, quote) {
                ('\\', _) => match characters
                    .next_if(|next| matches!(next, '\'' | '"' | '\\') || (quote.is_none() && *next == ' '))
                {
                    Some(escaped) => word.push(escaped),
                    None => word.push('\\'),
                },
                (' ' | '\t', None) => break,
                ('"' | '\'', None) => quote = Some(character),
                (_, Some(open)) if character == open => quote = None,
                _ => word.push(character),
            }
        }
        if quote.is_some() {
            return None;
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (text, keyword, expected) in [
            ("Host a b", "host", vec!["a", "b"]),
            ("  HOST\ta   b # c", "host", vec!["a", "b"]),
            ("Port=22", "port", vec!["22"]),
            ("Port = 22\r", "port", vec!["22"]),
            ("IdentityFile \"a b\"", "identityfile", vec!["a b"]),
            ("IdentityFile=\"a b\"", "identityfile", vec!["a b"]),
            ("IdentityFile 'a \"b'c", "identityfile", vec!["a \"bc"]),
            (r"IdentityFile a\ b\\c\d", "identityfile", vec![r"a b\c\d"]),
            ("User a#b", "user", vec!["a#b"]),
            ("User = =a", "user", vec!["=a"]),
            ("Host \"\"", "host", vec![""]),
        ] {
            let found = line(text).expect("a good line").expect("not a comment");
            assert_eq!(
                (found.keyword.as_str(), &found.arguments[..]),
                (keyword, &expected.map_strings()[..]),
                "{text}"
            );
        }
        for text in ["", "   ", "# Host a", "\t#"] {
            assert_eq!(line(text), Ok(None));
        }
        for text in ["Host", "Host =", "= a", "User \"a", "User a'"] {
            assert!(line(text).is_err(), "{text}");
        }
    }

    trait MapStrings {
        fn map_strings(self) -> Vec<String>;
    }

    impl MapStrings for Vec<&str> {
        fn map_strings(self) -> Vec<String> {
            self.into_iter().map(str::to_owned).collect()
        }
    }
}
