//! `random`: random values, or values derived from a seed.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::{CatalogFunction, Function, entry};
use crate::machine::{Probe, System};
use crate::text::crypt::{self, CryptMethod};
use crate::text::digest;
use crate::text::mersenne::Random;
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<GetStr>(),
    entry::<Hash>(),
    entry::<RandInt>(),
    entry::<Sample>(),
    entry::<Seed>(),
    entry::<ShadowHash>(),
    entry::<Shuffle>(),
    entry::<StrEncode>(),
];

/// The length limit of a text.
const LONGEST: u64 = 1024 * 1024;

/// A generator seeded by the system.
fn chance(machine: &dyn Probe) -> Result<Random> {
    let path = Path::new("/dev/urandom");
    let bytes = machine.read_at(path, 0, 64).map_err(|error| Error::io("read", path, &error))?;
    Ok(Random::from_bytes(&bytes))
}

fn seeded(seed: &Value) -> Random {
    match seed {
        Value::Int(number) => Random::from_integer(*number),
        other => Random::from_text(&other.to_string()),
    }
}

/// A random text, good enough for a password.
///
/// ```text
/// rocksalt '*' random.get_str 32
/// rocksalt '*' random.get_str 16 punctuation=False
/// ```
#[function("random.get_str", reads)]
pub struct GetStr {
    /// How many letters.
    #[default(20)]
    length: u64,
    /// Only these letters.
    chars: Option<String>,
    /// With small letters.
    #[default(true)]
    lowercase: bool,
    /// With capital letters.
    #[default(true)]
    uppercase: bool,
    /// With digits.
    #[default(true)]
    digits: bool,
    /// With punctuation.
    #[default(true)]
    punctuation: bool,
    /// With white space.
    whitespace: bool,
    /// With everything that can be printed.
    printable: bool,
}

impl Function for GetStr {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let mut letters: Vec<char> = self.chars.unwrap_or_default().chars().collect();
        if letters.is_empty() || self.printable {
            let whitespace = " \t\n\r\u{b}\u{c}";
            let wanted = |letter: &char| match letter {
                _ if self.printable => true,
                'a'..='z' => self.lowercase,
                'A'..='Z' => self.uppercase,
                '0'..='9' => self.digits,
                letter if whitespace.contains(*letter) => self.whitespace,
                _ => self.punctuation,
            };
            letters = ('!'..='~').chain(whitespace.chars()).filter(wanted).collect();
        }
        // One byte selects among at most 256 characters.
        if letters.is_empty() || letters.len() > 256 || self.length > LONGEST {
            return Err(Error::arguments("there is nothing to choose from, or too much was asked for"));
        }
        text(machine, &letters, self.length)
    }
}

/// Random characters, each directly from the system: the output of a generator could be predicted.
fn text(machine: &dyn Probe, letters: &[char], length: u64) -> Result<String> {
    let path = Path::new("/dev/urandom");
    let mut text = String::new();
    let mut count = 0;
    let fair = 256 - 256 % letters.len().min(256);
    while count < length {
        let bytes = machine.read_at(path, 0, 256).map_err(|error| Error::io("read", path, &error))?;
        if bytes.is_empty() {
            return Err(Error::failed("the system gives no randomness"));
        }
        for byte in bytes.into_iter().map(usize::from).filter(|byte| *byte < fair) {
            if count < length {
                text.push(letters[byte % letters.len()]);
                count += 1;
            }
        }
    }
    Ok(text)
}

/// The checksum of a text.
///
/// ```text
/// rocksalt '*' random.hash 'I am a string' md5
/// ```
#[function("random.hash", reads)]
pub struct Hash {
    /// The text.
    #[required]
    value: Value,
    /// md5, sha1, sha224, sha256, sha384 or sha512.
    #[default("sha512")]
    algorithm: String,
}

impl Function for Hash {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        let kind = digest::DigestAlgorithm::named(&self.algorithm).ok_or_else(|| {
            Error::failed("You must specify a valid algorithm.").hint(digest::DigestAlgorithm::list())
        })?;
        Ok(digest::of(kind, self.value.to_string().as_bytes()))
    }
}

/// A random integer; always the same for a seed.
///
/// ```text
/// rocksalt '*' random.rand_int 1 10
/// ```
#[function("random.rand_int", reads)]
pub struct RandInt {
    /// The smallest it may be.
    #[default(1)]
    start: i64,
    /// The largest it may be.
    #[default(10)]
    end: i64,
    /// A text or a number.
    seed: Value,
}

impl Function for RandInt {
    type Output = i64;

    fn call(self, machine: &dyn System) -> Result<i64> {
        let mut random = if self.seed.is_null() { chance(machine)? } else { seeded(&self.seed) };
        let span = i128::from(self.end) - i128::from(self.start) + 1;
        let span = u64::try_from(span).ok().filter(|span| *span > 0);
        let span = span.ok_or_else(|| Error::arguments(format!("empty range from {} to {}", self.start, self.end)))?;
        Ok(self.start.wrapping_add_unsigned(random.below(span)))
    }
}

/// An integer below a limit that is always the same for a target: to spread work over time.
///
/// ```text
/// rocksalt '*' random.seed 60
/// ```
#[function("random.seed", reads)]
pub struct Seed {
    /// The limit.
    #[default(10)]
    range: i64,
    /// What it is made from; else the target's id.
    hash: Value,
}

impl Function for Seed {
    type Output = i64;

    fn call(self, machine: &dyn System) -> Result<i64> {
        let id = || machine.grains().get("id").cloned().unwrap_or_default();
        let seed = if self.hash.is_null() { id() } else { self.hash };
        let limit = u64::try_from(self.range).ok().filter(|limit| *limit > 0);
        let limit = limit.ok_or_else(|| Error::arguments(format!("range: nothing is below {}", self.range)))?;
        Ok(seeded(&seed).below(limit) as i64)
    }
}

/// A list, or the characters of a text.
fn items(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::List(items) => Ok(items),
        Value::String(text) => Ok(text.chars().map(|letter| letter.to_string().into()).collect()),
        other => Err(Error::arguments(format!("value: expected a list, found {}", other.kind()))),
    }
}

fn chosen(machine: &dyn System, items: &[Value], size: usize, seed: &Value) -> Result<Vec<Value>> {
    if size > items.len() {
        return Err(Error::arguments("Sample larger than population or is negative"));
    }
    // Salt seeds with the checksum of the seed.
    let seeded = || Random::from_text(&digest::of(digest::DigestAlgorithm::Sha512, seed.to_string().as_bytes()));
    let mut random = if seed.is_null() { chance(machine)? } else { seeded() };
    Ok(random.sample(items, size))
}

/// Random items of a list; always the same for a seed.
///
/// ```text
/// rocksalt '*' random.sample '[a, b, c]' 2
/// rocksalt '*' random.sample '[a, b, c]' 2 seed=web1
/// ```
#[function("random.sample", reads)]
pub struct Sample {
    /// The list.
    #[required]
    value: Value,
    /// How many.
    size: usize,
    /// A text or a number.
    seed: Value,
}

impl Function for Sample {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        chosen(machine, &items(self.value)?, self.size, &self.seed)
    }
}

/// The hash of a password in the format of `/etc/shadow`.
///
/// ```text
/// rocksalt '*' random.shadow_hash crypt_salt=saltsalt password=secret
/// ```
#[function("random.shadow_hash", reads)]
pub struct ShadowHash {
    /// Up to sixteen letters; else they are random.
    crypt_salt: Option<String>,
    /// The password; else it is a random one.
    #[secret]
    password: Option<String>,
    /// `sha512` or `sha256`.
    #[default("sha512")]
    algorithm: String,
}

impl Function for ShadowHash {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let method = match self.algorithm.as_str() {
            "sha512" => CryptMethod::Sha512,
            "sha256" => CryptMethod::Sha256,
            other => {
                return Err(Error::arguments(format!("Invalid algorithm type '{other}'"))
                    .hint("there are sha512 and sha256; the older ones are not safe"));
            }
        };
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        let salt = match self.crypt_salt {
            Some(salt) => salt,
            None => text(machine, &letters, 16)?,
        };
        let password = match self.password {
            Some(password) => password,
            None => text(machine, &letters, 20)?,
        };
        Ok(crypt::hash(method, &salt, &password))
    }
}

/// A list in random order; always the same for a seed.
///
/// ```text
/// rocksalt '*' random.shuffle '[a, b, c]' seed=web1
/// ```
#[function("random.shuffle", reads)]
pub struct Shuffle {
    /// The list.
    #[required]
    value: Value,
    /// A text or a number.
    seed: Value,
}

impl Function for Shuffle {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let items = items(self.value)?;
        chosen(machine, &items, items.len(), &self.seed)
    }
}

/// A text in base64.
///
/// ```text
/// rocksalt '*' random.str_encode 'I am a string'
/// ```
#[function("random.str_encode", reads)]
pub struct StrEncode {
    /// The text.
    value: String,
    /// Only `base64` is there.
    #[default("base64")]
    encoder: String,
}

impl Function for StrEncode {
    type Output = String;

    fn call(self, _: &dyn System) -> Result<String> {
        match self.encoder.as_str() {
            "base64" => Ok(base64::Engine::encode(&base64::prelude::BASE64_STANDARD, self.value)),
            _ => Err(Error::arguments("You must specify a valid encoder")),
        }
    }
}
