//! `--host user@address:port`: a target without a roster.

use rocksalt_core::roster::RosterEntry;

use super::{Error, entry, names};

/// Parses `host`, `user@host:port`, `[2001:db8::1]:22` or `ssh://user@host:port`. The id is the host.
pub fn parse_host(text: &str) -> Result<RosterEntry, Error> {
    read(text).map_err(|reason| Error::BadHost { text: text.to_owned(), reason })
}

fn read(text: &str) -> Result<RosterEntry, String> {
    let bare = match text.split_once("://") {
        Some(("ssh", rest)) => rest.strip_suffix('/').unwrap_or(rest),
        Some((scheme, _)) => return Err(format!("scheme '{scheme}' is not supported; use ssh://")),
        None => text,
    };
    let (user, address) = match bare.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, bare),
    };
    let (host, port) = split_port(address)?;
    if let Some(user) = user {
        if user.contains(':') {
            return Err("it can't contain a password; put it in a roster, or enter it when asked".into());
        }
        names::check_user(user)?;
    }
    names::check_host(host)?;
    names::check_id(host)?;
    let mut entry = RosterEntry::new(host, host);
    entry.user = user.map(str::to_owned);
    entry.port = port.map(entry::port).transpose()?;
    entry.origin = "--host".into();
    Ok(entry)
}

/// Splits `host:port`. An IPv6 address with a port must be in brackets.
pub(super) fn split_port(address: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = address.strip_prefix('[') {
        let (host, behind) = rest.split_once(']').ok_or("']' is missing")?;
        if host.split('%').next().is_none_or(|bare| bare.parse::<std::net::Ipv6Addr>().is_err()) {
            return Err(format!("'{host}' is not an IPv6 address"));
        }
        return match behind.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if behind.is_empty() => Ok((host, None)),
            None => Err(format!("'{behind}' after the address is not a port")),
        };
    }
    Ok(match address.split_once(':') {
        Some((_, rest)) if rest.contains(':') => (address, None),
        Some((host, port)) => (host, Some(port)),
        None => (address, None),
    })
}
