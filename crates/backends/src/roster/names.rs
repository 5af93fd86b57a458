//! Checks of ids, hosts and users in rosters, which are not trusted.
//!
//! They become parts of paths, arguments of `ssh` and terminal output.

/// Ids are used as names of files and keys.
pub fn check_id(id: &str) -> Result<(), String> {
    if id == "." || id == ".." {
        return Err(format!("'{id}' can't be an id"));
    }
    // A comma separates ids in a list target.
    check("an id", id, |c| matches!(c, '/' | '\\' | ','))
}

/// A host is a name or an address that `ssh` can't take for an option.
pub fn check_host(host: &str) -> Result<(), String> {
    if let Some((user, host)) = host.rsplit_once('@') {
        return Err(format!("the host is '{host}'; write the user separately: 'user: {user}'"));
    }
    check("a host", host, |c| {
        matches!(c, '/' | '\\' | ',' | '"' | '\'' | '`' | '$' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
    })
}

pub fn check_user(user: &str) -> Result<(), String> {
    check("a user", user, |c| matches!(c, '/' | ':' | '"' | '\'' | '`' | '$' | ';' | '&' | '|' | '<' | '>' | '(' | ')'))
}

/// Jump hosts: `user@host:port,host2`.
pub fn check_jump(jump: &str) -> Result<(), String> {
    for hop in jump.split(',') {
        let hop = hop.strip_prefix("ssh://").unwrap_or(hop);
        let (user, host) = hop.rsplit_once('@').map_or((None, hop), |(user, host)| (Some(user), host));
        check_host(host)?;
        user.map_or(Ok(()), check_user)?;
    }
    Ok(())
}

fn check(what: &str, text: &str, forbidden: impl Fn(char) -> bool) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("{what} can't be empty"));
    }
    if text.len() > 255 {
        return Err(format!("{what} can't be longer than 255 bytes"));
    }
    if text.starts_with('-') {
        return Err(format!("{what} can't start with '-': '{text}'"));
    }
    match text.chars().find(|c| c.is_control() || c.is_whitespace() || is_invisible(*c) || forbidden(*c)) {
        Some(c) => Err(format!("{what} can't contain {c:?}: {text:?}")),
        None => Ok(()),
    }
}

/// Invisible and bidirectional control characters: names that look the same must be the same.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
