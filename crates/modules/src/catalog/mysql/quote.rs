//! Quotes values and names in SQL, so that they can't inject SQL.

/// A string literal with backslash escapes, for which the session is configured before ([`super::client`]).
pub fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for letter in text.chars() {
        match letter {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            '\0' => quoted.push_str("\\0"),
            '\u{1a}' => quoted.push_str("\\Z"),
            letter => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
}

/// The name of a database, table or column.
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The name of a database in a grant on all of it, where an unescaped `_` matches any character.
///
/// As in Salt, `%` stays a wildcard.
pub fn pattern(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter == '_' && before != '\\' {
            escaped.push('\\');
        }
        escaped.push(letter);
        before = letter;
    }
    identifier(&escaped)
}

/// `'user'@'host'`
pub fn account(user: &str, host: &str) -> String {
    format!("{}@{}", literal(user), literal(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal(r"a\' OR 1=1 -- "), r"'a\\'' OR 1=1 -- '");
        assert_eq!(literal("a\0b"), r"'a\0b'");
        assert_eq!(identifier("a`; DROP DATABASE x; --"), "`a``; DROP DATABASE x; --`");
        assert_eq!(pattern("my_db%"), r"`my\_db%`");
        assert_eq!(pattern(r"my\_db"), r"`my\_db`");
        assert_eq!(account("o'neil", "%"), "'o''neil'@'%'");
    }
}
