//! Checksums, by Salt's names.

use serde::{Deserialize, Serialize};

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// A kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DigestAlgorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

const KINDS: &[(&str, usize, DigestAlgorithm)] = &[
    ("md5", 32, DigestAlgorithm::Md5),
    ("sha1", 40, DigestAlgorithm::Sha1),
    ("sha224", 56, DigestAlgorithm::Sha224),
    ("sha256", 64, DigestAlgorithm::Sha256),
    ("sha384", 96, DigestAlgorithm::Sha384),
    ("sha512", 128, DigestAlgorithm::Sha512),
];

impl DigestAlgorithm {
    pub fn named(name: &str) -> Option<DigestAlgorithm> {
        KINDS.iter().find(|(known, ..)| *known == name).map(|(.., kind)| *kind)
    }

    /// The kind whose checksums have this many hexadecimal digits.
    pub fn of_length(length: usize) -> Option<DigestAlgorithm> {
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
        DigestAlgorithm::named(name).is_some()
    }
}

/// A checksum that is being computed.
pub enum DigestHasher {
    Md5(Md5),
    Sha1(Sha1),
    Sha224(Sha224),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl DigestHasher {
    pub fn new(kind: DigestAlgorithm) -> DigestHasher {
        match kind {
            DigestAlgorithm::Md5 => DigestHasher::Md5(Md5::new()),
            DigestAlgorithm::Sha1 => DigestHasher::Sha1(Sha1::new()),
            DigestAlgorithm::Sha224 => DigestHasher::Sha224(Sha224::new()),
            DigestAlgorithm::Sha256 => DigestHasher::Sha256(Sha256::new()),
            DigestAlgorithm::Sha384 => DigestHasher::Sha384(Sha384::new()),
            DigestAlgorithm::Sha512 => DigestHasher::Sha512(Sha512::new()),
        }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            DigestHasher::Md5(sum) => sum.update(bytes),
            DigestHasher::Sha1(sum) => sum.update(bytes),
            DigestHasher::Sha224(sum) => sum.update(bytes),
            DigestHasher::Sha256(sum) => sum.update(bytes),
            DigestHasher::Sha384(sum) => sum.update(bytes),
            DigestHasher::Sha512(sum) => sum.update(bytes),
        }
    }

    /// The checksum in hexadecimal.
    pub fn end(self) -> String {
        hex(&self.bytes())
    }

    pub fn bytes(self) -> Vec<u8> {
        match self {
            DigestHasher::Md5(sum) => sum.finalize().to_vec(),
            DigestHasher::Sha1(sum) => sum.finalize().to_vec(),
            DigestHasher::Sha224(sum) => sum.finalize().to_vec(),
            DigestHasher::Sha256(sum) => sum.finalize().to_vec(),
            DigestHasher::Sha384(sum) => sum.finalize().to_vec(),
            DigestHasher::Sha512(sum) => sum.finalize().to_vec(),
        }
    }
}

/// The checksum of bytes, as bytes.
pub fn raw(kind: DigestAlgorithm, bytes: &[u8]) -> Vec<u8> {
    let mut sum = DigestHasher::new(kind);
    sum.add(bytes);
    sum.bytes()
}

/// The HMAC of a message (RFC 2104).
pub fn keyed(kind: DigestAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let size = if matches!(kind, DigestAlgorithm::Sha384 | DigestAlgorithm::Sha512) { 128 } else { 64 };
    let mut block = if key.len() > size { raw(kind, key) } else { key.to_vec() };
    block.resize(size, 0);
    let masked = |mask: u8| block.iter().map(|byte| byte ^ mask).collect::<Vec<u8>>();
    let mut inner = DigestHasher::new(kind);
    inner.add(&masked(0x36));
    inner.add(message);
    let mut outer = DigestHasher::new(kind);
    outer.add(&masked(0x5c));
    outer.add(&inner.bytes());
    outer.bytes()
}

/// The checksum of bytes, in hexadecimal.
pub fn of(kind: DigestAlgorithm, bytes: &[u8]) -> String {
    let mut sum = DigestHasher::new(kind);
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
        assert_eq!(of(DigestAlgorithm::Md5, b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of(DigestAlgorithm::Sha1, b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let key = hex(&keyed(DigestAlgorithm::Sha256, b"key", b"The quick brown fox jumps over the lazy dog"));
        assert_eq!(key, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
        let long = hex(&keyed(DigestAlgorithm::Sha512, &[b'k'; 200], b"m"));
        assert_eq!(&long[..16], "56cacd8ce9dffad0");
        for (name, length, kind) in KINDS {
            assert_eq!(of(*kind, b"").len(), *length, "{name}");
            assert_eq!(DigestAlgorithm::named(name), DigestAlgorithm::of_length(*length));
        }
    }
}
