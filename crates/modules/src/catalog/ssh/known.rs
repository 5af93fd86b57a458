//! The text of a known_hosts file: finding the lines of a host, hashed or not, and adding and removing lines.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::key::fingerprint;
use crate::text::{digest, glob};
use crate::{Error, Result};

/// A key of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHostEntry {
    /// The field in the file: comma-separated names, or a hash.
    pub hostname: String,
    pub enc: String,
    pub key: String,
    pub fingerprint: String,
}

impl KnownHostEntry {
    pub fn info(&self) -> Value {
        Value::Map(Map::from_iter([
            ("hostname".into(), self.hostname.as_str().into()),
            ("key".into(), self.key.as_str().into()),
            ("enc".into(), self.enc.as_str().into()),
            ("fingerprint".into(), self.fingerprint.as_str().into()),
        ]))
    }

    /// Parses a line; `None` for comments, lines with a marker, and invalid keys.
    pub fn parse(line: &str, kind: Option<&str>) -> Result<Option<KnownHostEntry>> {
        let mut words = line.split_whitespace();
        let (Some(hostname), Some(enc), Some(key)) = (words.next(), words.next(), words.next()) else {
            return Ok(None);
        };
        if hostname.starts_with(['#', '@']) {
            return Ok(None);
        }
        let Some(fingerprint) = fingerprint(key, kind)? else { return Ok(None) };
        Ok(Some(KnownHostEntry { hostname: hostname.into(), enc: enc.into(), key: key.into(), fingerprint }))
    }
}

/// The name of a host in the file.
pub fn host_name(host: &str, port: Option<u16>) -> String {
    match port {
        None | Some(22) => host.to_owned(),
        Some(port) => format!("[{host}]:{port}"),
    }
}

/// The entries of a host, and their positions.
pub fn find(text: &str, host: &str, kind: Option<&str>) -> Result<Vec<(usize, KnownHostEntry)>> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(entry) = KnownHostEntry::parse(line, kind)?
            && names(&entry.hostname, host)
        {
            found.push((index, entry));
        }
    }
    Ok(found)
}

/// Removes a host's entries, all or those of one type. A line that also names other hosts keeps those.
pub fn without(text: &str, host: &str, enc: Option<&str>) -> Result<String> {
    let gone = find(text, host, None)?;
    let gone = |index: usize| gone.iter().any(|(line, entry)| *line == index && enc.is_none_or(|enc| entry.enc == enc));
    let mut left = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if !gone(index) {
            left.push_str(line);
            continue;
        }
        let field = line.split_whitespace().next().unwrap_or_default();
        let others: Vec<&str> = field.split(',').filter(|name| !name.eq_ignore_ascii_case(host)).collect();
        if others.len() < field.split(',').count() && !others.is_empty() {
            left.push_str(&line.replacen(field, &others.join(","), 1));
        }
    }
    Ok(left)
}

/// Whether the first field of a line contains a host.
fn names(field: &str, host: &str) -> bool {
    if let Some(hashed) = field.strip_prefix("|1|") {
        let Some((salt, sum)) = hashed.split_once('|') else { return false };
        let (Ok(salt), Ok(sum)) = (BASE64_STANDARD.decode(salt), BASE64_STANDARD.decode(sum)) else { return false };
        return digest::keyed(digest::DigestAlgorithm::Sha1, &salt, host.to_lowercase().as_bytes()) == sum;
    }
    let host = host.to_lowercase();
    let matches = |pattern: &str| pattern == host || pattern.contains(['*', '?']) && glob::matches(pattern, &host);
    let field = field.to_lowercase();
    !field.split(',').filter_map(|name| name.strip_prefix('!')).any(matches) && field.split(',').any(matches)
}

/// A hashed name.
pub fn hashed(host: &str, salt: &[u8]) -> String {
    let sum = digest::keyed(digest::DigestAlgorithm::Sha1, salt, host.to_lowercase().as_bytes());
    format!("|1|{}|{}", BASE64_STANDARD.encode(salt), BASE64_STANDARD.encode(sum))
}

/// Hashes every plain name, each on its own line; patterns and lines with a marker can't be hashed.
pub fn all_hashed(text: &str, salt: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<String> {
    let mut new = String::new();
    for line in text.split_inclusive('\n') {
        let entry = KnownHostEntry::parse(line, None)?;
        let plain = entry.filter(|entry| !entry.hostname.starts_with('|') && !entry.hostname.contains(['*', '?', '!']));
        let Some(entry) = plain else {
            new.push_str(line);
            continue;
        };
        let rest = line.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim();
        for name in entry.hostname.split(',') {
            new.push_str(&format!("{} {rest}\n", hashed(name, &salt()?)));
        }
    }
    Ok(new)
}

/// Checks a host, which is passed to `ssh-keyscan` and written to the file.
pub fn check_host(host: &str) -> Result<()> {
    let strange = |letter: char| letter.is_whitespace() || letter.is_control() || matches!(letter, ',' | '#' | '|');
    if host.is_empty() || host.starts_with(['-', '@']) || host.contains(strange) {
        return Err(Error::arguments(format!("'{host}' is no name of a host")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a remark
example.com,10.0.0.1 ssh-rsa AAAA
example.com ssh-ed25519 BBBB me@there
*.test.org ssh-rsa CCCC
!not.wild.org,*.wild.org ssh-rsa CCCC
@revoked example.com ssh-rsa DDDD
[example.com]:2222 ssh-rsa EEEE
|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= ssh-rsa FFFF
";

    #[test]
    fn hosts_are_found_by_all_their_names() {
        let cases: [(&str, &[&str]); 8] = [
            ("example.com", &["AAAA", "BBBB"]),
            ("10.0.0.1", &["AAAA"]),
            ("a.test.org", &["CCCC"]),
            ("not.wild.org", &[]),
            ("is.wild.org", &["CCCC"]),
            ("[example.com]:2222", &["EEEE"]),
            // The example of sshd's manual.
            ("192.168.1.61", &["FFFF"]),
            ("192.168.1.62", &[]),
        ];
        for (host, expected) in cases {
            let found = find(FILE, host, None).expect("it can be read");
            let found: Vec<&str> = found.iter().map(|(_, entry)| &*entry.key).collect();
            assert_eq!(found, expected, "{host}");
        }
    }

    #[test]
    fn a_removed_host_leaves_the_others() {
        let left = without(FILE, "example.com", Some("ssh-rsa")).expect("it can be read");
        assert!(left.contains("\n10.0.0.1 ssh-rsa AAAA\nexample.com ssh-ed25519 BBBB me@there\n"), "{left}");
        let left = without(FILE, "10.0.0.1", None).expect("it can be read");
        assert!(left.starts_with("# a remark\nexample.com ssh-rsa AAAA\nexample.com ssh-ed"), "{left}");
    }

    #[test]
    fn hashed_names_are_found_again() {
        let new = all_hashed(FILE, &mut || Ok(b"12345678901234567890".to_vec())).expect("it can be read");
        assert!(!new.contains("10.0.0.1") && new.contains("@revoked example.com") && new.contains("*.test.org"));
        assert_eq!(find(&new, "example.com", None).expect("it can be read").len(), 2);
        assert_eq!(find(&new, "10.0.0.1", None).expect("it can be read").len(), 1);
    }
}
