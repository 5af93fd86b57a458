//! [`SshKey`]: a line of a file of authorized keys.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::text::digest;
use crate::{Error, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshKey {
    /// The comma-separated options before it.
    pub options: String,
    pub enc: String,
    pub key: String,
    pub comment: String,
}

impl SshKey {
    /// Parses `[options] type key [comment]`; `None` for other lines.
    pub fn parse(line: &str) -> Option<SshKey> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (first, rest) = word(line);
        let (options, enc, rest) = match is_kind(first) {
            true => ("", first, rest),
            false => {
                let (enc, rest) = word(rest);
                (first, enc, rest)
            }
        };
        let (key, comment) = word(rest);
        (is_kind(enc) && !key.is_empty()).then(|| SshKey {
            options: options.to_owned(),
            enc: enc.to_owned(),
            key: key.to_owned(),
            comment: spaced(comment),
        })
    }

    /// Parses a user's argument: a whole line, or a key with an optional comment.
    pub fn given(text: &str, enc: &str, comment: &str, options: &[String]) -> SshKey {
        if let Some(mut key) = SshKey::parse(text) {
            if key.comment.is_empty() {
                key.comment = spaced(comment);
            }
            if key.options.is_empty() {
                key.options = options.join(",");
            }
            return key;
        }
        let (key, own) = word(text.trim());
        let comment = spaced(if own.is_empty() { comment } else { own });
        SshKey { options: options.join(","), enc: enc.to_owned(), key: key.to_owned(), comment }
    }

    pub fn line(&self) -> String {
        let parts = [&self.options, &self.enc, &self.key, &self.comment];
        parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether it is valid and fits on one line.
    pub fn is_valid(&self) -> bool {
        let lines = [&self.options, &self.comment].iter().all(|part| !part.contains(['\n', '\r']));
        lines && BASE64_STANDARD.decode(&self.key).is_ok_and(|bytes| !bytes.is_empty())
    }
}

/// The type for sshd, from the names that users write.
pub fn refined(enc: &str) -> Result<String> {
    const ALLOWED: [&str; 18] = [
        "ecdsa-sha2-nistp521",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp256",
        "ssh-ed25519",
        "ssh-rsa",
        "ssh-dss",
        "rsa-sha2-512",
        "rsa-sha2-256",
        "rsa-sha2-512-cert-v01@openssh.com",
        "rsa-sha2-256-cert-v01@openssh.com",
        "ssh-rsa-cert-v01@openssh.com",
        "ecdsa-sha2-nistp256-cert-v01@openssh.com",
        "ecdsa-sha2-nistp384-cert-v01@openssh.com",
        "ecdsa-sha2-nistp521-cert-v01@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
        "ssh-ed25519-cert-v01@openssh.com",
        "sk-ssh-ed25519@openssh.com",
    ];
    Ok(match enc {
        "r" | "rsa" => "ssh-rsa",
        "d" | "dsa" | "dss" => "ssh-dss",
        "e" | "ecdsa" => "ecdsa-sha2-nistp256",
        "ed25519" => "ssh-ed25519",
        "sk-ssh-ed25519-cert-v01@openssh.com" => enc,
        known if ALLOWED.contains(&known) => known,
        other => return Err(Error::arguments(format!("Incorrect encryption key type '{other}'."))),
    }
    .to_owned())
}

/// The fingerprint of a key in pairs of digits; `None` if it is invalid.
pub fn fingerprint(key: &str, kind: Option<&str>) -> Result<Option<String>> {
    let name = kind.filter(|kind| !kind.is_empty()).unwrap_or("sha256").to_lowercase();
    let kind = digest::DigestAlgorithm::named(&name)
        .ok_or_else(|| Error::arguments(format!("The fingerprint_hash_type {name} is not supported.")))?;
    let Ok(bytes) = BASE64_STANDARD.decode(key) else { return Ok(None) };
    let digits = digest::of(kind, &bytes);
    let pairs = digits.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).into_owned());
    Ok(Some(pairs.collect::<Vec<_>>().join(":")))
}

fn is_kind(word: &str) -> bool {
    let bare = word.strip_prefix("sk-").unwrap_or(word);
    let bare = bare.strip_prefix("ssh-").or_else(|| bare.strip_prefix("ecds"));
    bare.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_alphanumeric() || "_@.-".contains(c)))
}

/// The first word and the rest; quoted blanks don't separate.
fn word(text: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    let end = text.find(|letter: char| {
        let ends = !quoted && letter.is_whitespace();
        quoted ^= letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    let end = end.unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let cases = [
            ("ssh-rsa AAAA me@here", ["", "ssh-rsa", "AAAA", "me@here"]),
            ("ssh-ed25519 AAAA", ["", "ssh-ed25519", "AAAA", ""]),
            ("no-pty,from=\"a b\" ssh-rsa AAAA x  y", ["no-pty,from=\"a b\"", "ssh-rsa", "AAAA", "x y"]),
            (
                "command=\"ssh-agent \\\"x\\\" y\" ecdsa-sha2-nistp256 AAAA",
                ["command=\"ssh-agent \\\"x\\\" y\"", "ecdsa-sha2-nistp256", "AAAA", ""],
            ),
            ("sk-ssh-ed25519@openssh.com AAAA", ["", "sk-ssh-ed25519@openssh.com", "AAAA", ""]),
        ];
        for (line, [options, enc, key, comment]) in cases {
            let found = SshKey::parse(line).expect("it is one");
            assert_eq!((&*found.options, &*found.enc, &*found.key, &*found.comment), (options, enc, key, comment));
        }
        for line in ["", "# ssh-rsa AAAA", "AAAA", "ssh-rsa", "what ever is this"] {
            assert_eq!(SshKey::parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_given_may_be_short() {
        let bare = SshKey::given("AAAA a b", "rsa", "c", &["no-pty".into(), "x".into()]);
        assert_eq!(bare.line(), "no-pty,x rsa AAAA a b");
        assert_eq!(SshKey::given("AAAA", "ssh-rsa", "c  d", &[]).line(), "ssh-rsa AAAA c d");
        assert_eq!(SshKey::given("x=\"1\" ssh-dss AAAA", "ssh-rsa", "c", &[]).line(), "x=\"1\" ssh-dss AAAA c");
    }

    #[test]
    fn a_comment_makes_no_second_line() {
        assert!(SshKey::given("AAAA", "ssh-rsa", "c\nssh-rsa BBBB", &[]).is_valid());
        assert!(!SshKey::given("AAAA", "ssh-rsa", "", &["a\nssh-rsa BBBB".into()]).is_valid());
        assert!(!SshKey::given("A-A", "ssh-rsa", "", &[]).is_valid());
    }

    #[test]
    fn fingerprints_have_salts_form() {
        let text = fingerprint("AAAA", Some("md5")).expect("it is known");
        assert_eq!(text.as_deref(), Some("69:3e:9a:f8:4d:3d:fc:c7:1e:64:0e:00:5b:dc:5e:2e"));
        assert_eq!(fingerprint("no key", None).expect("it is known"), None);
        assert!(fingerprint("AAAA", Some("crc")).is_err());
    }
}
