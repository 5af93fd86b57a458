//! Checks of target ids that become part of a command line, a path or a URL (`docs/security-rules.md#r6`, `#r7`).

use super::Error;

/// For a command line: no character that is special in a shell.
pub fn for_command(id: &str) -> Result<&str, Error> {
    let fault = |why| Error::Id { id: id.to_owned(), place: "a command line", why };
    if id.is_empty() {
        return Err(fault("it is empty"));
    }
    if id.starts_with('-') {
        return Err(fault("it would be taken for an option"));
    }
    match id.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-@:+".contains(letter)) {
        true => Ok(id),
        false => Err(fault("it may only have letters, digits and ._-@:+")),
    }
}

/// For a path: a single component.
pub fn for_path(id: &str) -> Result<&str, Error> {
    let fault = |why| Error::Id { id: id.to_owned(), place: "a path", why };
    match id {
        "" => Err(fault("it is empty")),
        "." | ".." => Err(fault("it is not a name")),
        id if id.contains(['/', '\\', '\0', '\n']) => Err(fault("it is more than one name")),
        id => Ok(id),
    }
}

/// For a URL: percent-encodes reserved characters.
pub fn for_address(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_pass() {
        for id in ["web1", "web-1.example.com", "10.0.0.1", "a_b@c:1"] {
            assert!(for_command(id).is_ok() && for_path(id).is_ok(), "{id}");
        }
        for id in ["", "-x", "a b", "a;b", "$(x)", "`x`", "a|b", "a\nb", "../x", "é", "a'b", "%s"] {
            assert!(for_command(id).is_err(), "{id}");
        }
        for id in ["", ".", "..", "../x", "a/b", "a\0b"] {
            assert!(for_path(id).is_err(), "{id}");
        }
        assert_eq!(for_address("a b/../é?x=1"), "a%20b%2F..%2F%C3%A9%3Fx%3D1");
    }
}
