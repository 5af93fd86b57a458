//! [`Jump`]: a jump host, one hop of a `ProxyJump`.

use std::fmt;

/// One hop of a `ProxyJump`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jump {
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
}

impl Jump {
    /// Parses hops in order: `user@host:port`, `ssh://user@host:port`, separated by commas.
    /// `none` means no hops.
    pub fn parse_list(text: &str) -> Result<Vec<Jump>, String> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        text.split(',').map(Jump::parse).collect()
    }

    fn parse(text: &str) -> Result<Jump, String> {
        let wrong = |why: &str| format!("'{text}' is no machine to jump through: {why}");
        let place = text.strip_prefix("ssh://").map_or(text, |uri| uri.trim_end_matches('/'));
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, after)) => {
                (host, Some(after.strip_prefix(':').ok_or_else(|| wrong("a ':' must follow the ']'"))?))
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        let port = port.map(|port| super::settings::port(port).map_err(|why| wrong(&why))).transpose()?;
        is_name(host).map_err(|why| wrong(&format!("the host name {why}")))?;
        if let Some(user) = user {
            is_name(user).map_err(|why| wrong(&format!("the user name {why}")))?;
        }
        Ok(Jump { user: user.map(str::to_owned), host: host.to_owned(), port })
    }
}

/// The form that ssh's `-J` accepts.
impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Checks that a name is safe in a command line and in a message: it can't be taken for an option, and contains nothing
/// that a shell or a terminal would interpret.
pub fn is_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("is empty");
    }
    if name.starts_with('-') {
        return Err("starts with '-', so that ssh would take it for an option");
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control() || "'`\"$\\;&<>|(){}".contains(c)) {
        return Err("has a character that no name has");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        for (text, expected) in [
            ("gate", "gate"),
            ("me@gate:2222", "me@gate:2222"),
            ("a,b:1,c@d", "a b:1 c@d"),
            ("ssh://me@gate:22/", "me@gate:22"),
            ("[::1]:22", "[::1]:22"),
            ("[::1]", "[::1]"),
            ("me@corp@gate", "me@corp@gate"),
            ("none", ""),
        ] {
            let hops = Jump::parse_list(text).expect("good hops");
            assert_eq!(hops.iter().map(Jump::to_string).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
        for text in ["", "a,", "a:0", "a:x", "-oProxyCommand=x", "a@-b", "-l@b", "a b", "[::1]22", "a;b", "@a", "$(x)"]
        {
            assert!(Jump::parse_list(text).is_err(), "{text}");
        }
    }
}
