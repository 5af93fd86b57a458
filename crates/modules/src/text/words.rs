//! Splits and joins command lines as Python's `shlex` does, and splits lists that are written as one text.

use rocksalt_core::Value;

/// Splits words as a POSIX shell does, without any expansion.
pub fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => quoted(&mut letters, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut letters, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next().ok_or("No escaped character")?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(letters: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), &'static str> {
    loop {
        match letters.next().ok_or("No closing quotation")? {
            letter if letter == quote => return Ok(()),
            '\\' if quote == '"' => match letters.next().ok_or("No closing quotation")? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            letter => word.push(letter),
        }
    }
}

/// Quotes a word so that a shell reads it back unchanged.
pub fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./-_".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Joins words to a line that a shell splits into the same words.
pub fn join<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| quote(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// A list, or one text separated at commas.
pub fn listed(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        text => {
            text.to_string().split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_pythons() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a   b\tc\n", &["a", "b", "c"]),
            ("'a b' c", &["a b", "c"]),
            (r#""a \"b\" \n" c"#, &[r#"a "b" \n"#, "c"]),
            (r"a\ b \' c", &["a b", "'", "c"]),
            (r"'a\b'", &[r"a\b"]),
            ("''", &[""]),
            (r#"a''b"" ''"#, &["ab", ""]),
            (r#"x='1 2'"3""#, &["x=1 23"]),
            ("a # b", &["a", "#", "b"]),
            ("é '日 本'", &["é", "日 本"]),
        ];
        for (text, words) in cases {
            assert_eq!(
                split(text).as_deref(),
                Ok(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        assert_eq!(split("a 'b"), Err("No closing quotation"));
        assert_eq!(split("a \"b\\\""), Err("No closing quotation"));
        assert_eq!(split("a \\"), Err("No escaped character"));
    }

    #[test]
    fn what_is_joined_splits_again() {
        for words in [vec!["a", "b c", "", "it's", "$x", "\"", "\\", "a\nb", "日本"], vec![]] {
            assert_eq!(split(&join(&words)).expect("quoted words split"), words);
        }
    }
}
