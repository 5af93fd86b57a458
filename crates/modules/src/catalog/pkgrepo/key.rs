//! Keys of repositories: removing their armour, and their fingerprints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::text::digest::{self, DigestAlgorithm};
use crate::{Error, Result};

/// A key without armour, as apt requires it in a file whose name doesn't end with `.asc`.
pub fn bare(content: &[u8]) -> Result<Vec<u8>> {
    let Some(text) = std::str::from_utf8(content).ok().filter(|text| text.contains("-----BEGIN PGP")) else {
        return match packets(content).is_empty() {
            true => Err(Error::failed("this is no key: neither text that begins with -----BEGIN PGP nor a bare key")),
            false => Ok(content.to_vec()),
        };
    };
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN PGP PUBLIC KEY BLOCK-----") {
        let (block, after) = after
            .split_once("-----END PGP PUBLIC KEY BLOCK-----")
            .ok_or_else(|| Error::failed("the key has no end: -----END PGP PUBLIC KEY BLOCK----- is missing"))?;
        bytes.extend(unarmoured(block)?);
        rest = after;
    }
    match packets(&bytes).is_empty() {
        true => Err(Error::failed("there is no public key in it")),
        false => Ok(bytes),
    }
}

/// Decodes one block: headers, an empty line, base64, and a checksum that begins with `=`.
fn unarmoured(block: &str) -> Result<Vec<u8>> {
    let mut body = String::new();
    let mut sum = None;
    let mut lines = block.lines().map(str::trim).skip_while(|line| line.is_empty()).peekable();
    while lines.peek().is_some_and(|line| line.contains(": ")) {
        lines.next();
    }
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix('=').filter(|digits| digits.len() == 4) {
            Some(digits) => sum = Some(digits),
            None => body.push_str(line),
        }
    }
    let broken = |_| Error::failed("the key's text is damaged: it is no base64");
    let bytes = STANDARD.decode(&body).map_err(broken)?;
    if let Some(sum) = sum {
        let expected = STANDARD.decode(sum).map_err(broken)?;
        if crc24(&bytes).to_be_bytes()[1..] != expected[..] {
            return Err(Error::failed("the key's text is damaged: its checksum is another"));
        }
    }
    Ok(bytes)
}

fn crc24(bytes: &[u8]) -> u32 {
    let mut sum: u32 = 0xB7_04CE;
    for byte in bytes {
        sum ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            sum <<= 1;
            if sum & 0x100_0000 != 0 {
                sum ^= 0x186_4CFB;
            }
        }
    }
    sum & 0xFF_FFFF
}

/// The fingerprints of the public keys and subkeys, in upper case.
pub fn fingerprints(content: &[u8]) -> Vec<String> {
    let is_key = |(tag, body): &(u8, &[u8])| matches!(tag, 6 | 14) && body.first() == Some(&4);
    let fingerprint = |(_, body): (u8, &[u8])| {
        let length = u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes();
        let text: Vec<u8> = [0x99].into_iter().chain(length).chain(body.iter().copied()).collect();
        digest::of(DigestAlgorithm::Sha1, &text).to_ascii_uppercase()
    };
    packets(content).into_iter().filter(is_key).map(fingerprint).collect()
}

/// The number of keys, without subkeys.
pub fn main_keys(content: &[u8]) -> usize {
    packets(content).iter().filter(|(tag, _)| *tag == 6).count()
}

/// Whether a key id (the end of a fingerprint, with or without `0x`) belongs to one of the keys.
pub fn is_among(id: &str, fingerprints: &[String]) -> bool {
    let id = id.trim().trim_start_matches("0x").replace(' ', "").to_ascii_uppercase();
    id.len() >= 8 && fingerprints.iter().any(|fingerprint| fingerprint.ends_with(&id))
}

/// Tag and body.
type Packet<'a> = (u8, &'a [u8]);

/// The packets of a key: tag and body. Empty if the format is invalid.
fn packets(mut bytes: &[u8]) -> Vec<Packet<'_>> {
    let mut found = Vec::new();
    while let Some((packet, rest)) = packet(bytes) {
        found.push(packet);
        bytes = rest;
    }
    if bytes.is_empty() { found } else { Vec::new() }
}

/// The first packet, and the rest.
fn packet(bytes: &[u8]) -> Option<(Packet<'_>, &[u8])> {
    let (&head, rest) = bytes.split_first()?;
    let number = |bytes: &[u8]| bytes.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
    let (tag, length, rest) = match head & 0xC0 {
        0xC0 => {
            let (&first, rest) = rest.split_first()?;
            match first {
                0..=191 => (head & 0x3F, usize::from(first), rest),
                192..=223 => {
                    let (&second, rest) = rest.split_first()?;
                    (head & 0x3F, ((usize::from(first) - 192) << 8) + usize::from(second) + 192, rest)
                }
                255 => (head & 0x3F, number(rest.get(..4)?), rest.get(4..)?),
                // Partial lengths only occur in data, not in keys.
                _ => return None,
            }
        }
        0x80 => {
            let size = match head & 3 {
                0 => 1,
                1 => 2,
                2 => 4,
                _ => return None,
            };
            (head >> 2 & 0xF, number(rest.get(..size)?), rest.get(size..)?)
        }
        _ => return None,
    };
    Some(((tag, rest.get(..length)?), &rest[length..]))
}

/// The URL of a key on a key server (HKP is HTTP).
pub fn address(server: &str, id: &str) -> String {
    let server = server.trim().trim_end_matches('/');
    let base = match server.split_once("://") {
        Some(("hkps", host)) => format!("https://{host}"),
        Some(("hkp", host)) if !host.contains(':') => format!("http://{host}:11371"),
        Some(("hkp", host)) => format!("http://{host}"),
        Some(_) => server.to_owned(),
        None => format!("https://{server}"),
    };
    let id: String = id.trim().trim_start_matches("0x").chars().filter(char::is_ascii_hexdigit).collect();
    format!("{base}/pks/lookup?op=get&options=mr&search=0x{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARMOURED: &str = include_str!("test-key.asc");

    /// The results of `gpg --dearmor` and `gpg --list-keys`.
    #[test]
    fn armour_is_taken_off() {
        let bytes = bare(ARMOURED.as_bytes()).expect("it is a key");
        assert_eq!(
            digest::of(DigestAlgorithm::Sha256, &bytes),
            "011a49a3652d08b345db8ce08e6175cef4aedcb99861acc627f2f48f3b46ff4d"
        );
        assert_eq!(bare(&bytes).expect("it is a key"), bytes, "a bare one stays as it is");
        assert_eq!(fingerprints(&bytes), ["0A602262846994CE23707A204FF7AD49085A8774"]);
        assert!(is_among("0x4FF7AD49085A8774", &fingerprints(&bytes)));
        assert!(!is_among("0xDEADBEEF", &fingerprints(&bytes)));
        assert!(!is_among("", &fingerprints(&bytes)));
    }

    #[test]
    fn damaged_keys_are_refused() {
        let other = ARMOURED.replacen('a', "b", 1).replacen('A', "C", 1);
        for text in [&other, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc", "<html>not found</html>", ""] {
            assert!(bare(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn key_servers_are_asked_by_http() {
        let asked = |server: &str| address(server, "0xABCD EF01");
        assert_eq!(
            asked("keys.example.test"),
            "https://keys.example.test/pks/lookup?op=get&options=mr&search=0xABCDEF01"
        );
        assert_eq!(
            asked("hkp://keys.example.test"),
            "http://keys.example.test:11371/pks/lookup?op=get&options=mr&search=0xABCDEF01"
        );
        assert_eq!(
            asked("hkp://keys.example.test:80/"),
            "http://keys.example.test:80/pks/lookup?op=get&options=mr&search=0xABCDEF01"
        );
    }
}
