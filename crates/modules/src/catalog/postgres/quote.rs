//! Quotes values and names in SQL, so that they can't inject SQL.

use crate::{Error, Result};

/// A string literal that doesn't depend on the server's setting for backslashes.
pub fn literal(text: &str) -> String {
    let text = text.replace('\0', "").replace('\'', "''");
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\")),
        false => format!("'{text}'"),
    }
}

/// The quoted name of an object.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "").replace('"', "\"\""))
}

/// A word that is used in SQL unquoted: the name of an option, a version number.
pub fn word(text: &str) -> Result<&str> {
    match !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter)) {
        true => Ok(text),
        false => Err(Error::arguments(format!("'{text}' can't stand in SQL as it is"))),
    }
}

/// Checks a user's statement: for `psql` a backslash outside of quotes begins a command, such as `\!`.
pub fn without_commands(statement: &str) -> Result<&str> {
    let mut quote = None;
    for letter in statement.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (None, '\\') => {
                return Err(Error::arguments("a backslash outside quotes is a command of psql's, not SQL"));
            }
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    Ok(statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal(r"a\'; DROP TABLE x; --"), r"E'a\\''; DROP TABLE x; --'");
        assert_eq!(identifier(r#"a"; DROP TABLE x; --"#), r#""a""; DROP TABLE x; --""#);
        assert!(word("1.2; DROP").is_err() && word("").is_err() && word("seq_page_cost").is_ok());
        assert!(without_commands(r"SELECT 1 \! rm -rf x").is_err());
        assert!(without_commands(r#"SELECT '\!', "\\" FROM x"#).is_ok());
    }
}
