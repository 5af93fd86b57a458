//! Wraps and centres text as Python's `textwrap` and `str.center` do.

/// Fills lines with words. A word longer than a line is broken; a hyphenated word may be broken at its hyphens.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for (index, piece) in pieces(text).into_iter().enumerate() {
        let mut letters: Vec<char> = piece.chars().collect();
        let blank = piece.trim().is_empty();
        if used + letters.len() > width && !blank {
            // A word that fits on no line is broken, beginning on the current line.
            while letters.len() > width {
                let room = width.saturating_sub(used);
                line.extend(letters.drain(..room));
                lines.push(line.trim_end().to_owned());
                (line, used) = (String::new(), 0);
            }
            if used + letters.len() > width {
                lines.push(line.trim_end().to_owned());
                (line, used) = (String::new(), 0);
            }
        }
        // White space at the start of a line is dropped, except on the first line.
        if blank && used == 0 && index > 0 {
            continue;
        }
        used += letters.len();
        line.extend(letters);
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Splits into words, white space, and parts of words that end in a hyphen.
fn pieces(text: &str) -> Vec<String> {
    let text: String = text.chars().map(|letter| if letter.is_ascii_whitespace() { ' ' } else { letter }).collect();
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_inclusive(' ') {
        let (word, space) = word.strip_suffix(' ').map_or((word, false), |word| (word, true));
        let letters: Vec<char> = word.chars().collect();
        let mut piece = String::new();
        for (index, letter) in letters.iter().enumerate() {
            piece.push(*letter);
            let before = index >= 2 && letters[index - 2].is_alphabetic() && letters[index - 1].is_alphabetic();
            let after = letters.get(index + 1).is_some_and(|next| next.is_alphabetic())
                && letters.get(index + 2).is_some_and(|next| next.is_alphabetic() || *next == '-');
            if *letter == '-' && before && after {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        if !piece.is_empty() {
            pieces.push(piece);
        }
        if space {
            match pieces.last_mut().filter(|last| last.trim().is_empty()) {
                Some(last) => last.push(' '),
                None => pieces.push(" ".into()),
            }
        }
    }
    pieces
}

/// Centres a text; an odd space is placed as in Python.
pub fn center(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let space = width.saturating_sub(length);
    let left = space / 2 + (space & width & 1);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(space - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pythons() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("one two three", 7, &["one two", "three"]),
            ("one  two\nthree", 8, &["one  two", "three"]),
            ("abcdefghij kl", 4, &["abcd", "efgh", "ij", "kl"]),
            ("a abcdefghij", 4, &["a ab", "cdef", "ghij"]),
            ("well-known word", 6, &["well-", "known", "word"]),
            ("  lead", 10, &["  lead"]),
            ("", 5, &[]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(wrap(text, *width), *expected, "{text}");
        }
        for (text, width, expected) in [("ab", 5, "  ab "), ("a", 4, " a  "), ("abc", 2, "abc"), ("ab", 4, " ab ")] {
            assert_eq!(center(text, width), expected);
        }
    }
}
