//! Expands `%h` and the other tokens, `${NAME}` and `~` in values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::LocalUser;

/// The value of each token, by its letter.
pub type Tokens<'a> = &'a [(char, &'a str)];

/// Replaces `%x`; `%%` is a percent sign.
pub fn percent(text: &str, tokens: Tokens<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('%') => out.push('%'),
            Some(letter) => match tokens.iter().find(|(name, _)| *name == letter) {
                Some((_, value)) => out.push_str(value),
                None => return Err(format!("'%{letter}' in '{text}' is not known here")),
            },
            None => return Err(format!("'{text}' ends in a lone '%'")),
        }
    }
    Ok(out)
}

/// Replaces `${NAME}`; an unset variable is an error.
pub fn variables(text: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| format!("'{text}' has a '${{' without '}}'"))?;
        let value = environment.get(name).ok_or_else(|| format!("the variable {name} in '{text}' is not set"))?;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    Ok(out + rest)
}

/// Replaces a leading `~` by the home directory.
pub fn tilde(text: &str, home: &Path) -> Result<PathBuf, String> {
    match text.strip_prefix('~') {
        None => Ok(PathBuf::from(text)),
        Some("") => Ok(home.to_owned()),
        Some(rest) => match rest.strip_prefix('/') {
            Some(inside) => Ok(home.join(inside.trim_start_matches('/'))),
            None => Err(format!("'{text}' names another user's home; write its whole path")),
        },
    }
}

/// Expands all three, in ssh's order.
pub fn path(text: &str, tokens: Tokens<'_>, local: &LocalUser) -> Result<PathBuf, String> {
    let home = tilde(text, &local.home)?;
    let text = home.to_str().ok_or_else(|| format!("'{}' is not UTF-8", home.display()))?;
    // ssh expands both in one pass, so that neither is applied to the result of the other.
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("${") {
        let end = rest[place..].find('}').map_or(rest.len(), |end| place + end + 1);
        out.push_str(&percent(&rest[..place], tokens)?);
        out.push_str(&variables(&rest[place..end], &local.environment)?);
        rest = &rest[end..];
    }
    out.push_str(&percent(rest, tokens)?);
    Ok(PathBuf::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_replaced_once() {
        let local = LocalUser {
            home: "/home/me".into(),
            environment: [("KEYS".to_owned(), "/k/%h".to_owned())].into(),
            ..LocalUser::default()
        };
        let tokens = [('h', "web"), ('r', "${KEYS}")];
        for (text, expected) in [
            ("~/.ssh/id", Ok("/home/me/.ssh/id")),
            ("~", Ok("/home/me")),
            ("id_%h%%", Ok("id_web%")),
            ("${KEYS}/%h", Ok("/k/%h/web")),
            ("%r", Ok("${KEYS}")),
            ("~you/id", Err(())),
            ("%z", Err(())),
            ("%", Err(())),
            ("${NONE}", Err(())),
            ("${KEYS", Err(())),
        ] {
            assert_eq!(path(text, &tokens, &local).map_err(|_| ()), expected.map(PathBuf::from), "{text}");
        }
    }
}
