//! `hashutil`: checksums, signatures and base64 of texts and files.

use std::path::Path;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rocksalt_core::Value;
use rocksalt_macros::{arguments, function};

use super::file::{absolute, text_or_bytes};
use super::{CatalogFunction, Function, entry};
use crate::machine::{Probe, System};
use crate::text::digest::{self, DigestAlgorithm};
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<B64Decode>(),
    entry::<B64Encode>(),
    entry::<DecodeString>(),
    entry::<EncodeFile>(),
    entry::<EncodeString>(),
    entry::<Digest>(),
    entry::<DigestFile>(),
    entry::<GithubSignature>(),
    entry::<HmacCompute>(),
    entry::<HmacSignature>(),
    entry::<Md5Digest>(),
    entry::<Sha256Digest>(),
    entry::<Sha512Digest>(),
];

/// Like Python, tolerates missing padding only at the very end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// The number of bytes per line in Python's `encodebytes`.
const LINE: usize = 57;

fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.clone(),
        other => other.to_string().into_bytes(),
    }
}

fn in_lines(content: &[u8]) -> String {
    content.chunks(LINE).map(|line| BASE64.encode(line) + "\n").collect()
}

fn supported(name: &str) -> Result<DigestAlgorithm> {
    match name {
        "md5" | "sha256" | "sha512" => DigestAlgorithm::named(name),
        _ => None,
    }
    .ok_or_else(|| {
        Error::failed(format!("Hash func '{name}' is not supported.")).hint("there are md5, sha256 and sha512")
    })
}

fn file(machine: &dyn Probe, path: &str) -> Result<Vec<u8>> {
    let path = absolute(machine, path)?;
    read(machine, &path)
}

fn read(machine: &dyn Probe, path: &Path) -> Result<Vec<u8>> {
    machine.read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::failed(format!("File path '{}' not found.", path.display())),
        _ => Error::io("read", path, &error),
    })
}

/// A text.
#[arguments]
pub struct HashedText {
    /// The text.
    #[required]
    instr: Value,
}

impl HashedText {
    fn decode(self, _: &dyn System) -> Result<Value> {
        // Characters outside of base64 are skipped.
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        let letters: Vec<u8> = bytes(&self.instr).into_iter().filter(letter).collect();
        let decoded =
            BASE64.decode(letters).map_err(|error| Error::arguments(format!("that is no base64: {error}")))?;
        Ok(text_or_bytes(decoded))
    }

    fn encode(self, _: &dyn System) -> Result<String> {
        Ok(BASE64.encode(bytes(&self.instr)))
    }

    fn encode_in_lines(self, _: &dyn System) -> Result<String> {
        Ok(in_lines(&bytes(&self.instr)))
    }

    fn digest(self, _: &dyn System, kind: DigestAlgorithm) -> Result<String> {
        Ok(digest::of(kind, &bytes(&self.instr)))
    }
}

/// Decodes base64; returns bytes if the result is no text.
///
/// ```text
/// rocksalt '*' hashutil.base64_b64decode instr='Z2V0IHNhbHRlZA=='
/// ```
#[function("hashutil.base64_b64decode", reads, call = HashedText::decode -> Value)]
pub struct B64Decode(HashedText);

/// A text in base64, on one line.
///
/// ```text
/// rocksalt '*' hashutil.base64_b64encode 'get salted'
/// ```
#[function("hashutil.base64_b64encode", reads, call = HashedText::encode -> String)]
pub struct B64Encode(HashedText);

/// Decodes lines of base64; returns bytes if the result is no text.
///
/// ```text
/// rocksalt '*' hashutil.base64_decodestring instr='Z2V0IHNhbHRlZA=='
/// ```
#[function("hashutil.base64_decodestring", reads, call = HashedText::decode -> Value)]
pub struct DecodeString(HashedText);

/// A text in base64, in lines of 76 letters that each end with a newline.
///
/// ```text
/// rocksalt '*' hashutil.base64_encodestring 'get salted'
/// ```
#[function("hashutil.base64_encodestring", reads, call = HashedText::encode_in_lines -> String)]
pub struct EncodeString(HashedText);

/// The MD5 checksum of a text.
///
/// ```text
/// rocksalt '*' hashutil.md5_digest 'get salted'
/// ```
#[function("hashutil.md5_digest", reads, call = HashedText::digest(DigestAlgorithm::Md5) -> String)]
pub struct Md5Digest(HashedText);

/// The SHA-256 checksum of a text.
///
/// ```text
/// rocksalt '*' hashutil.sha256_digest 'get salted'
/// ```
#[function("hashutil.sha256_digest", reads, call = HashedText::digest(DigestAlgorithm::Sha256) -> String)]
pub struct Sha256Digest(HashedText);

/// The SHA-512 checksum of a text.
///
/// ```text
/// rocksalt '*' hashutil.sha512_digest 'get salted'
/// ```
#[function("hashutil.sha512_digest", reads, call = HashedText::digest(DigestAlgorithm::Sha512) -> String)]
pub struct Sha512Digest(HashedText);

/// The checksum of a text.
///
/// ```text
/// rocksalt '*' hashutil.digest 'get salted' sha256
/// ```
#[function("hashutil.digest", reads)]
pub struct Digest {
    /// The text.
    #[required]
    instr: Value,
    /// `md5`, `sha256` or `sha512`.
    #[default("md5")]
    checksum: String,
}

impl Function for Digest {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(digest::of(supported(&self.checksum)?, &bytes(&self.instr)))
    }
}

/// The checksum of a file.
///
/// ```text
/// rocksalt '*' hashutil.digest_file /etc/hosts sha256
/// ```
#[function("hashutil.digest_file", reads)]
pub struct DigestFile {
    /// Its path.
    infile: String,
    /// `md5`, `sha256` or `sha512`.
    #[default("md5")]
    checksum: String,
}

impl Function for DigestFile {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let content = file(machine, &self.infile)?;
        Ok(digest::of(supported(&self.checksum)?, &content))
    }
}

/// A file in base64, in lines of 76 letters.
///
/// ```text
/// rocksalt '*' hashutil.base64_encodefile /etc/hosts
/// ```
#[function("hashutil.base64_encodefile", reads)]
pub struct EncodeFile {
    /// Its path.
    fname: String,
}

impl Function for EncodeFile {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(in_lines(&file(machine, &self.fname)?))
    }
}

/// The HMAC of a text with SHA-256, in hexadecimal.
///
/// ```text
/// rocksalt '*' hashutil.hmac_compute 'get salted' 'shared secret'
/// ```
#[function("hashutil.hmac_compute", reads)]
pub struct HmacCompute {
    /// The text.
    #[required]
    string: Value,
    /// The key.
    #[required]
    #[secret]
    shared_secret: Value,
}

impl Function for HmacCompute {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        Ok(digest::hex(&digest::keyed(DigestAlgorithm::Sha256, &bytes(&self.shared_secret), &bytes(&self.string))))
    }
}

/// Whether the HMAC of a text with SHA-256, in base64, is as given.
///
/// ```text
/// rocksalt '*' hashutil.hmac_signature 'get salted' 'shared secret' challenge_hmac='eBWf9bstXg+NiP5AOwppB5HMvZiYMPzEM9W5YMm/AmQ='
/// ```
#[function("hashutil.hmac_signature", reads)]
pub struct HmacSignature {
    /// The text.
    #[required]
    string: Value,
    /// The key.
    #[required]
    #[secret]
    shared_secret: Value,
    /// What it should be.
    #[required]
    challenge_hmac: Value,
}

impl Function for HmacSignature {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        let right =
            BASE64.encode(digest::keyed(DigestAlgorithm::Sha256, &bytes(&self.shared_secret), &bytes(&self.string)));
        Ok(same(right.as_bytes(), &bytes(&self.challenge_hmac)))
    }
}

/// Whether a signature of the form `sha1=…`, as GitHub sends it, is that of a text.
///
/// ```text
/// rocksalt '*' hashutil.github_signature '{"ref": "x"}' 'shared secret' challenge_hmac='sha1=bc6550fc290acf5b42283fa8deaf55cea0f8c206'
/// ```
#[function("hashutil.github_signature", reads)]
pub struct GithubSignature {
    /// The text.
    #[required]
    string: Value,
    /// The key.
    #[required]
    #[secret]
    shared_secret: Value,
    /// The signature, with the name of its kind.
    challenge_hmac: String,
}

impl Function for GithubSignature {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        let parts = self.challenge_hmac.split_once('=');
        let Some((kind, challenge)) =
            parts.and_then(|(name, challenge)| Some((DigestAlgorithm::named(name)?, challenge)))
        else {
            return Err(Error::arguments(format!("'{}' is no signature", self.challenge_hmac))
                .hint("it has the form sha1=…; known are md5, sha1, sha224, sha256, sha384 and sha512"));
        };
        let right = digest::hex(&digest::keyed(kind, &bytes(&self.shared_secret), &bytes(&self.string)));
        Ok(same(right.as_bytes(), challenge.as_bytes()))
    }
}

/// Compares in constant time.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
