//! Checksums by the names that Salt knows them under.

use serde::{Deserialize, Serialize};

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// A kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

const KINDS: &[(&str, usize, Kind)] = &[
    ("md5", 32, Kind::Md5),
    ("sha1", 40, Kind::Sha1),
    ("sha224", 56, Kind::Sha224),
    ("sha256", 64, Kind::Sha256),
    ("sha384", 96, Kind::Sha384),
    ("sha512", 128, Kind::Sha512),
];

impl Kind {
    pub fn named(name: &str) -> Option<Kind> {
        KINDS.iter().find(|(known, ..)| *known == name).map(|(.., kind)| *kind)
    }

    /// The kind whose checksums have so many hexadecimal digits.
    pub fn of_length(length: usize) -> Option<Kind> {
        KINDS.iter().find(|(_, known, _)| *known == length).map(|(.., kind)| *kind)
    }

    /// `md5 (32), sha1 (40), …`
    pub fn list() -> String {
        KINDS.iter().map(|(name, length, _)| format!("{name} ({length})")).collect::<Vec<_>>().join(", ")
    }

    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(.., kind)| *kind == self).map_or("", |(name, ..)| name)
    }

    pub fn is_name(name: &str) -> bool {
        Kind::named(name).is_some()
    }
}

/// A checksum in the making.
pub enum Sum {
    Md5(Md5),
    Sha1(Sha1),
    Sha224(Sha224),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Sum {
    pub fn new(kind: Kind) -> Sum {
        match kind {
            Kind::Md5 => Sum::Md5(Md5::new()),
            Kind::Sha1 => Sum::Sha1(Sha1::new()),
            Kind::Sha224 => Sum::Sha224(Sha224::new()),
            Kind::Sha256 => Sum::Sha256(Sha256::new()),
            Kind::Sha384 => Sum::Sha384(Sha384::new()),
            Kind::Sha512 => Sum::Sha512(Sha512::new()),
        }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            Sum::Md5(sum) => sum.update(bytes),
            Sum::Sha1(sum) => sum.update(bytes),
            Sum::Sha224(sum) => sum.update(bytes),
            Sum::Sha256(sum) => sum.update(bytes),
            Sum::Sha384(sum) => sum.update(bytes),
            Sum::Sha512(sum) => sum.update(bytes),
        }
    }

    /// In hexadecimal.
    pub fn end(self) -> String {
        hex(&self.bytes())
    }

    pub fn bytes(self) -> Vec<u8> {
        match self {
            Sum::Md5(sum) => sum.finalize().to_vec(),
            Sum::Sha1(sum) => sum.finalize().to_vec(),
            Sum::Sha224(sum) => sum.finalize().to_vec(),
            Sum::Sha256(sum) => sum.finalize().to_vec(),
            Sum::Sha384(sum) => sum.finalize().to_vec(),
            Sum::Sha512(sum) => sum.finalize().to_vec(),
        }
    }
}

/// Of bytes at hand, as bytes.
pub fn raw(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    let mut sum = Sum::new(kind);
    sum.add(bytes);
    sum.bytes()
}

/// With a key, as in RFC 2104.
pub fn keyed(kind: Kind, key: &[u8], message: &[u8]) -> Vec<u8> {
    let size = if matches!(kind, Kind::Sha384 | Kind::Sha512) { 128 } else { 64 };
    let mut block = if key.len() > size { raw(kind, key) } else { key.to_vec() };
    block.resize(size, 0);
    let masked = |mask: u8| block.iter().map(|byte| byte ^ mask).collect::<Vec<u8>>();
    let mut inner = Sum::new(kind);
    inner.add(&masked(0x36));
    inner.add(message);
    let mut outer = Sum::new(kind);
    outer.add(&masked(0x5c));
    outer.add(&inner.bytes());
    outer.bytes()
}

/// Of bytes at hand.
pub fn of(kind: Kind, bytes: &[u8]) -> String {
    let mut sum = Sum::new(kind);
    sum.add(bytes);
    sum.end()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_everybody_gets() {
        assert_eq!(of(Kind::Md5, b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of(Kind::Sha1, b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let key = hex(&keyed(Kind::Sha256, b"key", b"The quick brown fox jumps over the lazy dog"));
        assert_eq!(key, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
        let long = hex(&keyed(Kind::Sha512, &[b'k'; 200], b"m"));
        assert_eq!(&long[..16], "56cacd8ce9dffad0");
        for (name, length, kind) in KINDS {
            assert_eq!(of(*kind, b"").len(), *length, "{name}");
            assert_eq!(Kind::named(name), Kind::of_length(*length));
        }
    }
}
