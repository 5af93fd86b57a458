//! Splits lines as Python's `str.splitlines` does.

/// The lines with their ends.
pub fn kept(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((index, letter)) = letters.next() {
        if !is_end(letter) {
            continue;
        }
        let mut end = index + letter.len_utf8();
        if letter == '\r' && letters.peek().is_some_and(|(_, next)| *next == '\n') {
            letters.next();
            end += 1;
        }
        lines.push(&text[start..end]);
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// The lines without their ends.
pub fn bare(text: &str) -> Vec<&str> {
    kept(text).into_iter().map(|line| line.strip_suffix("\r\n").unwrap_or(line.trim_end_matches(is_end))).collect()
}

fn is_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c' | '\x1d' | '\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pythons() {
        assert_eq!(bare("a\r\nb\rc\n\nd"), ["a", "b", "c", "", "d"]);
        assert_eq!(kept("a\r\nb\n"), ["a\r\n", "b\n"]);
        assert_eq!(bare("\n"), [""]);
        assert!(bare("").is_empty());
    }
}
