//! Checks URLs and names for git: none may be taken for an option or run a program.

use std::path::PathBuf;

use super::super::file::expand;
use crate::machine::{Probe, accounts};
use crate::{Error, Result};

/// Checks the URL of a repository. `ext::` and similar transports run programs, so they are refused.
pub fn url(text: &str) -> Result<&str> {
    let transport = text.split_once("::").is_some_and(|(scheme, _)| scheme.chars().all(char::is_alphanumeric));
    if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n', '\r']) || transport {
        return Err(Error::arguments(format!("'{}' is no address of a repository", text.escape_debug()))
            .hint("known are https://, http://, ssh://, git://, file://, user@host:path and paths"));
    }
    // ssh would take a host that begins with a dash for an option.
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    if host.rsplit('@').next().is_some_and(|host| host.starts_with('-')) || host.starts_with('-') {
        return Err(Error::arguments(format!("'{text}' is no address of a repository: a host can't begin with '-'")));
    }
    Ok(text)
}

/// Checks the name of a branch, tag, commit, remote or similar; `what` is the argument's name.
pub fn name<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    match text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
        true => Err(Error::arguments(format!("{what}: '{}' is no name that git could take", text.escape_debug()))),
        false => Ok(text),
    }
}

/// A directory as in Salt's functions: a relative one is below the user's home.
pub fn directory(machine: &dyn Probe, cwd: &str, user: Option<&str>) -> PathBuf {
    let path = expand(machine, cwd);
    if path.is_absolute() {
        return path;
    }
    let home = match user {
        Some(name) => accounts::user(machine, name).map(|user| user.home),
        None => machine.env("HOME"),
    };
    PathBuf::from(home.unwrap_or_else(|| "/".into())).join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_options_are_refused() {
        for good in ["https://h/a.git", "git@h:a.git", "ssh://git@h:22/a", "/srv/a b.git", "file:///srv/a", "h:a::b/c"]
        {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in ["", "--upload-pack=x", "ext::sh -c id", "fd::17", "ssh://-oProxyCommand=x/a", "-x@h:a", "a\nb"] {
            assert!(url(bad).is_err(), "{bad}");
        }
        assert!(name("rev", "v1.0").is_ok() && name("rev", "--force").is_err() && name("rev", "").is_err());
    }
}
